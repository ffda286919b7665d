"""The timelines in docs/cached.md, made from runs: `python -m conformance.cached.page` writes them anew."""

from __future__ import annotations

import re
from pathlib import Path

from conformance.cached.attribution import cached
from conformance.cached.catalogue import judge
from conformance.cached.driving import CachedSession, drive
from conformance.cached.report import block
from conformance.cached.study import Finding
from conformance.cached.targets import load_cached
from conformance.cached.timeline import timeline
from conformance.workloads import Workload

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cached.md"
EXAMPLE = Workload.of(
    [
        ("a", [11, 12], 2, [15, 16]),
        ("b", [21], 5, [25, 26, 27, 28, 29]),
        ("c", [31, 32, 33], 3, [35, 0]),
        ("d", [41], 1, [45]),
    ],
    num_slots=2,
    stop_token=0,
    otherwise=99,
)
SPLICE = re.compile(r"(<!-- (\w+): begin -->\n\n```text\n).*?(\n```\n\n<!-- \2: end -->)", re.DOTALL)


def blocks() -> dict[str, str]:
    """The text between each pair of marks."""
    return {
        "reference": _run("reference.cached"),
        "pieces": _run("variants.cached_chunked"),
        "dirty": _violation("variants.flawed.cached_no_reset", "cache/fresh"),
    }


def _run(target: str) -> str:
    implementation = load_cached(target)
    found = judge(drive(implementation.generate, EXAMPLE), implementation.dialect)
    assert not found.violations
    return timeline(cached(found.attribution))


def _violation(target: str, name: str) -> str:
    implementation = load_cached(target)
    judgement = judge(drive(implementation.generate, EXAMPLE), implementation.dialect)
    finding = Finding(name, judgement.violations[name], judgement, CachedSession((EXAMPLE,)), "this page")
    return block(finding)


def spliced(text: str) -> str:
    """The page with every block made anew."""
    made = blocks()
    return SPLICE.sub(lambda match: match[1] + made[match[2]] + match[3], text)


if __name__ == "__main__":
    PAGE.write_text(spliced(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
