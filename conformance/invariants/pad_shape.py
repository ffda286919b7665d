"""pad/shape: a fixed batch shape is fixed."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    split = found.divergence
    if split is None or found.dialect.batch != "padded" or found.run.calls[split.call].malformed:
        return None
    rows, num_slots = len(found.run.calls[split.call].rows), found.run.workload.num_slots
    if rows == num_slots:
        return None
    return Violation(split.call, f"exactly {num_slots} rows, idle slots as pad rows", f"{rows} rows")


def witness(found: Attribution) -> bool:
    """Some call has pad rows beside real ones."""
    return found.dialect.batch == "padded" and any(None in owners for owners in found.owners)


INVARIANT = Invariant(
    level="MUST",
    sentence="Under `batch=padded` every call has exactly `num_slots` rows, which contain the required real rows; what "
    "is left over are pad rows.",
    why="A compiled graph or a captured batch has one shape; another number of rows fails, or compiles anew.",
    seen_in=("quic/efficient-transformers#130",),
    does_not_say="What a pad row holds; `[]` and a row equal to a real one are legal.",
    check=check,
    witness=witness,
    mutants=(
        Mutant(
            'if dialect.batch == "padded" else occupied',
            'if dialect.batch == "padded" and waiting else occupied',
            "batch=padded",
        ),
    ),
)
