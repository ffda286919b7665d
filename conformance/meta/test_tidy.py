"""The shape of the repository, as a test: what imports what, what lies where, how long a file may be."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOP = {"pyproject.toml", "README.md", "LICENSE", "reference", "variants", "conformance", "docs"}
IGNORED = {"dist", "build", "__pycache__", "node_modules"}
LONGEST, LONGEST_TEST = 400, 520
PYTHON = sorted(p for folder in ("reference", "variants", "conformance") for p in (ROOT / folder).rglob("*.py"))
STANDARD = sys.stdlib_module_names | {"__future__"}
OURS = {"reference", "variants", "conformance"}


def imports(path: Path) -> Iterator[str]:
    """The modules that a file imports, by their full names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            yield node.module or ""


def breaches(path: Path) -> list[str]:
    """The imports of a file that go against the direction of the house."""
    place = path.relative_to(ROOT).parts
    return [name for name in imports(path) if not _allowed(place, name)]


def _allowed(place: tuple[str, ...], name: str) -> bool:
    top = name.partition(".")[0]
    if place[0] == "reference":
        return top in STANDARD or top == "reference" or (place[1] == "formal" and top == "z3")
    if place[0] == "variants":
        return top not in OURS or name == "reference.vocabulary" or (place[1] == "engines" and top == "variants")
    if place[:2] == ("conformance", "invariants"):
        judged = (
            "attribution",
            "absence",
            "history",
            "workloads",
            "invariant",
            "invariants",
            "engine",
            "cached",
            "fair",
        )
        ours = name == "reference.vocabulary" or name.startswith(tuple(f"conformance.{part}" for part in judged))
        return top in STANDARD or ours
    return True


@pytest.mark.parametrize("folder", ["reference", "variants", "conformance"])
def test_imports_go_one_way(folder: str) -> None:
    files = [path for path in PYTHON if path.relative_to(ROOT).parts[0] == folder]
    assert len(files) > 5
    assert {str(path): found for path in files if (found := breaches(path))} == {}


def test_a_breach_would_be_seen(tmp_path: Path) -> None:
    assert not _allowed(("variants", "x.py"), "conformance.run")
    assert not _allowed(("variants", "x.py"), "variants.padded")
    assert not _allowed(("reference", "x.py"), "hypothesis")
    assert not _allowed(("conformance", "invariants", "x.py"), "conformance.study")
    assert not _allowed(("conformance", "invariants", "x.py"), "hypothesis")


def test_generate_and_the_transition_system_do_not_know_each_other() -> None:
    assert "reference.transitions" not in set(imports(ROOT / "reference" / "generate.py"))
    assert "reference.generate" not in set(imports(ROOT / "reference" / "transitions.py"))


def test_nothing_outside_imports_the_suite() -> None:
    outside = [path for path in PYTHON if path.relative_to(ROOT).parts[0] != "conformance"]
    assert not [path for path in outside if any(name.startswith("conformance") for name in imports(path))]


def test_the_reference_is_short() -> None:
    assert len((ROOT / "reference" / "generate.py").read_text().splitlines()) <= 100


def test_files_are_short() -> None:
    lengths = {p: len(p.read_text(encoding="utf-8").splitlines()) for p in PYTHON}
    long = {p: n for p, n in lengths.items() if n > (LONGEST_TEST if p.stem.startswith("test_") else LONGEST)}
    assert len(lengths) > 200
    assert long == {}


def test_the_top_level_holds_what_the_card_says() -> None:
    found = {p.name for p in ROOT.iterdir() if not p.name.startswith(".")} - IGNORED
    assert {name for name in found - TOP if not name.endswith(".egg-info")} == set()


def test_every_public_function_and_class_of_the_reference_has_a_docstring() -> None:
    bare, seen = [], 0
    for path in (ROOT / "reference").glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                seen += 1
                short = len(ast.unparse(node).splitlines()) <= 5  # such as a predicate that says what it is
                bare += [f"{path.name}: {node.name}"] if not ast.get_docstring(node) and not short else []
    assert seen > 20
    assert bare == []


def test_citations_read_owner_repo_number() -> None:
    form = re.compile(r"^[\w.\-]+/[\w.\-]+#\d+$")
    from conformance.catalogue import EVERY

    cited = [report for invariant in EVERY.values() for report in invariant.seen_in]
    assert len(cited) > 40
    assert [report for report in cited if not form.match(report)] == []
