"""The rubric: the lines that a strong answer covers, each with the invariants that show it.

A line fails when an invariant of it is charged. It passes when nothing in it is broken and all of it
that applies has been judged; else it is not graded, and leaves the denominator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from conformance.catalogue import CATALOGUE
from conformance.grading.schema import InvariantReport, LineReport, Score


class Line(NamedTuple):
    """One line: MUST invariants only, each in exactly one line."""

    id: str
    title: str
    invariants: tuple[str, ...]
    points: float = 1


LINES = (
    Line(
        "slots",
        "Slots, their buffers, and the FIFO queue",
        ("call/size", "row/prefix", "admission/fifo", "slot/held", "input/unchanged", "run/independent"),
    ),
    Line(
        "completion",
        "Completion by stop token and by max_tokens",
        ("finish/stop", "finish/length"),
    ),
    Line("refill", "Freed slots refilled before the next call", ("refill/immediate",)),
    Line(
        "outputs",
        "Outputs mapped back, compact or padded",
        ("row/reply", "output/own", "pad/shape", "pad/ignored"),
    ),
    Line(
        "termination",
        "Termination, none lost or served twice",
        ("run/ends", "output/complete", "admission/once", "call/needed"),
    ),
    Line(
        "edges",
        "Edge cases: zero limit, odd prompt, failing call",
        ("zero/untouched", "prompt/inert", "failure/surfaces"),
    ),
)


def line_of(invariant: str) -> str:
    """The id of the line that an invariant counts for; empty for a SHOULD."""
    return next((line.id for line in LINES if invariant in line.invariants), "")


def graded(reports: Mapping[str, InvariantReport]) -> list[LineReport]:
    """Grade every line."""
    return [_graded(line, [reports[name] for name in line.invariants]) for line in LINES]


def _graded(line: Line, reports: Sequence[InvariantReport]) -> LineReport:
    charged = [report.name for report in reports if report.charge == "charged"]
    if charged:
        return LineReport(line.id, line.title, "failed", line.points, charged)
    shown = all(report.status in ("holds", "not applicable") for report in reports)
    return LineReport(line.id, line.title, "passed" if shown else "not graded", line.points)


def score(lines: Sequence[LineReport]) -> Score:
    """Add up the lines that could be graded."""
    earned = sum(line.points for line in lines if line.status == "passed")
    return _score(earned, sum(line.points for line in lines if line.status != "not graded"))


def should_score(reports: Mapping[str, InvariantReport]) -> Score:
    """Score the SHOULD invariants, one point each, apart from the rubric."""
    told = [r for r in reports.values() if r.level == "SHOULD" and r.status in ("holds", "violated")]
    return _score(sum(r.status == "holds" for r in told), len(told))


def _score(earned: float, possible: float) -> Score:
    return Score(earned, possible, round(earned / possible, 4) if possible else 0.0)


def ordered(names: Sequence[str]) -> list[str]:
    """Put invariants in the order of the rubric, the SHOULD ones last."""
    order = [name for line in LINES for name in line.invariants]
    order += [name for name in CATALOGUE if name not in order]
    return sorted(names, key=order.index)
