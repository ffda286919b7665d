"""The pages say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.catalogue import EVERY
from conformance.docs import PAGE, page

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")


def test_the_page_of_invariants_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page() + "\n", "run: python -m conformance.docs"


def test_every_invariant_is_on_the_page_once() -> None:
    text = page()
    for invariant in EVERY.values():
        assert text.count(f'<a id="{invariant.anchor}">') == 1
    assert len(EVERY) >= 26


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for link in LINK.findall(path.read_text(encoding="utf-8")):
        if "://" not in link:
            place, _, anchor = link.partition("#")
            goal = (path.parent / place) if place else path
            assert goal.exists(), f"{path.name}: {link}"
            if anchor and goal.suffix == ".md":
                assert anchor in anchors(goal), f"{path.name}: {link}"


def anchors(path: Path) -> set[str]:
    """The places in a page that a link can lead to: explicit ids, and headings as forges name them."""
    text = path.read_text(encoding="utf-8")
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    named = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
    return named | set(re.findall(r'<a id="([^"]+)">', text))


def test_there_are_pages() -> None:
    assert len(PAGES) >= 8
