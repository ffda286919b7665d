"""The report of `slotspec prove` on a terminal: one line a theorem, readable at 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from conformance.proving.theorem import Line

WIDTHS = (26, 15, 10, 13, 6, 5)  # with a blank between them, 80 columns
HEADING = ("theorem", "scope", "method", "verdict", "sec", "ctrl")
DETAILS = 5


def row(cells: Sequence[str]) -> str:
    """Put cells in columns; the last two are numbers, to the right."""
    padded = [cell.rjust(w) if n > 3 else cell.ljust(w) for n, (cell, w) in enumerate(zip(cells, WIDTHS, strict=True))]
    return " ".join(padded).rstrip()


def heading() -> Text:
    return Text(row(HEADING), style="bold")


def of_line(line: Line) -> Text:
    """Format one line; `ctrl` is how many of its negative controls were refuted."""
    theorem = line.theorem
    controls = f"{line.refuted}/{len(theorem.controls)}" if line.ran else "-"
    seconds = f"{line.seconds:.1f}" if line.ran else "-"
    text = row((theorem.name, theorem.short, theorem.tool, line.outcome.verdict, seconds, controls))
    return Text(text, style="" if line.holds else "yellow" if not line.ran else "red")


def explanation(line: Line) -> Iterator[str]:
    """Say, indented, what a theorem that does not hold states, and what went wrong."""
    if line.ran:
        yield line.theorem.statement
    shown = line.outcome.details[:DETAILS]
    yield from shown
    if len(line.outcome.details) > len(shown):
        yield f"and {len(line.outcome.details) - len(shown)} more"
    if line.ran:
        missed = [control for control in line.theorem.controls if control not in line.outcome.refuted]
        yield from (f"negative control not refuted: {control}" for control in missed)
        if not line.theorem.controls:
            yield "it has no negative control"


def print_line(console: Console, line: Line) -> None:
    console.print(of_line(line), soft_wrap=True)
    if not line.holds:
        for text in explanation(line):
            console.print(Text(f"    {text}"), soft_wrap=True)


def summary(lines: Iterable[Line]) -> str:
    """Say how many hold, how many do not, and how many did not run; with their controls, and the time."""
    lines = list(lines)
    ran = [line for line in lines if line.ran]
    holding, idle = sum(line.holds for line in lines), len(lines) - len(ran)
    refuted, controls = sum(line.refuted for line in ran), sum(len(line.theorem.controls) for line in ran)
    parts = [f"{holding} hold", f"{len(ran) - holding} do not"] + ([f"{idle} not run"] if idle else [])
    seconds = sum(line.seconds for line in lines)
    return f"{', '.join(parts)}; negative controls refuted: {refuted} of {controls}; {seconds:.0f} s"
