"""Renew the tables of docs/proofs.md: `python -m conformance.proving.document`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from conformance.proving.catalogue import theorems
from conformance.proving.theorem import Theorem

PAGE = Path(__file__).resolve().parents[2] / "docs" / "proofs.md"
BEGIN, END = "<!-- theorems: begin -->", "<!-- theorems: end -->"
PROVERS = ("z3", "Dafny")

SECTIONS: tuple[tuple[str, Callable[[Theorem], bool]], ...] = (
    ("Proved without a bound", lambda theorem: theorem.tool in PROVERS and theorem.short == "unbounded"),
    ("Proved for some numbers of slots", lambda theorem: theorem.tool in PROVERS and theorem.short != "unbounded"),
    ("Confirmed for a shape, and every token", lambda theorem: theorem.tool == "CrossHair"),
    ("Checked on every case up to a bound", lambda theorem: theorem.tool == "exhaustive"),
    ("Replayed", lambda theorem: theorem.tool == "replay"),
)


def block() -> str:
    """Make the tables: each theorem once, in the section of what is shown of it."""
    everything = theorems()
    parts = [
        "\n".join([f"### {title}\n", *table([theorem for theorem in everything if belongs(theorem)])])
        for title, belongs in SECTIONS
    ]
    return "\n\n".join([counts(everything), *parts])


def counts(everything: list[Theorem]) -> str:
    controls = sum(len(theorem.controls) for theorem in everything)
    return f"{len(everything)} theorems, with {controls} negative controls."


def table(members: list[Theorem]) -> Iterator[str]:
    """Yield the rows of one section; the number of controls stands for their names, which `--json` gives."""
    yield "| theorem | what it says | scope | method | controls |"
    yield "|---|---|---|---|---:|"
    for theorem in members:
        cells = (f"`{theorem.name}`", theorem.statement, theorem.scope, theorem.method, str(len(theorem.controls)))
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def splice(text: str, tables: str) -> str:
    """Put the tables between the two marks. Raises ValueError where they are not there."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page should hold {BEGIN} and, after it, {END}")
    return f"{before}{begin}\n\n{tables}\n\n{end}{after}"


def main() -> None:
    PAGE.write_text(splice(PAGE.read_text(encoding="utf-8"), block()), encoding="utf-8")
    sys.stdout.write(f"{PAGE.name}: {len(theorems())} theorems\n")


if __name__ == "__main__":
    main()
