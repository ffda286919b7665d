"""A verdict on a file of tests as text, 79 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from conformance.catalogue import CATALOGUE
from conformance.grading.own_tests.verdict import Broken, GradedTests, right
from conformance.grading.render_text import WIDTH, clean
from reference.vocabulary import Dialect

MOST_SHOWN = 5  # right ones that are rejected
LONGEST = 300  # characters of why


def screen(verdict: GradedTests) -> str:
    """All that the author of the tests needs."""
    lines = [*_head(verdict), *_rejected(verdict)]
    if verdict.invariants:
        lines += ["", *_table(verdict)]
    if verdict.verdict == "accepts":
        lines += _missed(verdict)
    return "\n".join([*lines, "", *_foot(verdict)])


def short(name: str) -> str:
    return name.rpartition(".")[2] if name.startswith("variants.flawed.") else name


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _head(verdict: GradedTests) -> Iterator[str]:
    must = verdict.must
    if verdict.verdict == "accepts":
        said = f"SCORE {verdict.score:.2f}: {verdict.tests.target}: {verdict.reason}"
        said += f", and rejects {must.rejected} of {must.flawed} flawed ones"
    elif verdict.verdict == "rejects-right":
        said = f"SCORE 0: {verdict.tests.target}: {verdict.reason}"
    else:
        said = f"INVALID: {verdict.tests.target}: {verdict.reason}"
    yield from _wrapped(clean(said), "", "  ")
    other = [f"{axis}={value}" for axis, value in verdict.dialect.items() if value != vars(Dialect())[axis]]
    if other:
        yield f"  dialect   {', '.join(other)}, as it states"


def _rejected(verdict: GradedTests) -> Iterator[str]:
    refused = [one for one in right(verdict.implementations) if one.outcome in ("failed", "timeout")]
    for one in refused[:MOST_SHOWN]:
        how = "rejected by" if one.outcome == "failed" else "timed out in"
        yield from _wrapped(clean(f"{one.name}: {how} {one.test or 'no test in particular'}"), "  - ", "    ")
        yield from _wrapped(clean(one.why[:LONGEST]), "      ", "      ")
    if len(refused) > MOST_SHOWN:
        yield f"  ... and {len(refused) - MOST_SHOWN} more; --json has them all"
    if refused:
        yield "  A right implementation must pass: the score is 0, whatever else is rejected."


def _table(verdict: GradedTests) -> Iterator[str]:
    yield "  invariant             flawed  rejected"
    for level in ("MUST", "SHOULD"):
        rows = [row for row in verdict.invariants if row.level == level]
        if rows and level == "SHOULD":
            yield f"  beyond the promises, not in the score: {verdict.should.rejected} of {verdict.should.flawed}"
        yield from map(_row, rows)


def _row(row: Broken) -> str:
    bar = "#" * row.rejected + "." * (row.flawed - row.rejected)
    return f"  {row.name:<22}{row.flawed:>6}{row.rejected:>10}  {bar}"


def _missed(verdict: GradedTests) -> Iterator[str]:
    missed = [row for row in verdict.invariants if row.missed and row.level == "MUST"]
    if missed:
        yield ""
        yield "  Missed, by the promise that is broken:"
    for row in missed:
        yield from _wrapped(f"{row.name}  {CATALOGUE[row.name].sentence}", "  - ", "    ")
        yield from _wrapped(", ".join(map(short, row.missed)), "      ", "      ")


def _foot(verdict: GradedTests) -> Iterator[str]:
    crashed = [one for one in verdict.implementations if one.outcome in ("crashed", "invalid") and one.role != "right"]
    if crashed:
        yield from _wrapped(
            f"{len(crashed)} flawed ones made the tests themselves crash, which is no rejection: "
            + ", ".join(short(one.name) for one in crashed[:4])
            + (", ..." if len(crashed) > 4 else ""),
            "  note      ",
            "            ",
        )
    if not verdict.sandbox.contained:
        yield "  note      this machine cannot contain hostile tests; see docs/sandbox.md"
    count = len(verdict.implementations)
    yield f"  {count} implementations in {verdict.seconds:.1f} s, seed {verdict.seed}"
