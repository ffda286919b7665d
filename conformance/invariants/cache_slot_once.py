"""cache/slot-once: one line, one row."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.cached.attribution import slipped
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    return slipped(found, "twice")


def witness(found: Attribution) -> bool:
    """A forward has rows of two requests."""
    return any(len(owners) > 1 for owners in found.owners)


INVARIANT = Invariant(
    level="MUST",
    sentence="A forward has at most one row for a slot.",
    why='Two rows for one line are two requests in one slot ("a slot holds one request in progress"), or one that is '
    "served twice; in which order they are written is anybody's guess.",
    seen_in=("sgl-project/mini-sglang#111",),
    does_not_say="In which order the rows stand.",
    check=check,
    witness=witness,
    situations=frozenset({"plain", "sampled", "raises"}),
    profile="cached",
    implied_by=("call/size",),
    mutants=(
        Mutant("batch = [(index, slot.unwritten)", "batch = [(max(0, index - 1), slot.unwritten)"),
        Mutant("batch = [(index, slot.unwritten)", "batch = [(index % max(1, num_slots - 1), slot.unwritten)"),
    ),
)
