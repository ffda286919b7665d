"""pad/constant: one pad row, the same in every call."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    if found.dialect.batch != "padded":
        return None
    first = None
    for index, (owners, call) in enumerate(zip(found.owners, found.run.calls, strict=False)):
        for owner, row in zip(owners, call.rows, strict=True):
            if owner is None and first is None:
                first = row
            if owner is None and row != first:
                return Violation(index, f"the pad row {list(first or ())}, as before", f"{list(row)}")
    return None


def witness(found: Attribution) -> bool:
    """Two calls have pad rows."""
    return found.dialect.batch == "padded" and sum(None in owners for owners in found.owners) > 1


INVARIANT = Invariant(
    level="SHOULD",
    sentence='Under `batch=padded` all pad rows of a run are one constant row: "empty slots sent as one constant pad '
    'row".',
    why="A pad that changes is a pad that remembers something; it also defeats a prefix cache.",
    does_not_say="Which row. Repeating a real row instead is legal practice, and reported here.",
    check=check,
    witness=witness,
    mutants=(
        Mutant(
            "else [] for index in sent]",
            "else [len(waiting), sum(map(len, results.values()))] for index in sent]",
            "batch=padded",
        ),
    ),
)
