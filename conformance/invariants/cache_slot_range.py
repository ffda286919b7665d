"""cache/slot-range: there are so many lines and no more."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.cached.attribution import slipped
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    return slipped(found, "range")


def witness(found: Attribution) -> bool:
    """All slots are in use, so that the last one is, and somebody waits."""
    return sum(map(bool, found.limits)) > found.run.workload.num_slots


INVARIANT = Invariant(
    level="MUST",
    sentence="The slots of a forward and of a reset are 0 to num_slots - 1.",
    why="The model has no other lines. Where lines are an array, -1 is no error but the last line, and a pad row "
    "written there lands in somebody's prefix.",
    seen_in=("vllm-project/vllm#43810",),
    does_not_say="Which free slot a request takes.",
    check=check,
    witness=witness,
    situations=frozenset({"plain", "sampled", "raises"}),
    profile="cached",
    mutants=(
        Mutant("batch = [(index, slot.unwritten)", "batch = [(index - 1, slot.unwritten)"),
        Mutant("batch = [(index, slot.unwritten)", "batch = [(index + 1, slot.unwritten)"),
        Mutant(
            "                    model.reset(index)\n    finally",
            "                    model.reset(index if index else -num_slots)\n    finally",
        ),
    ),
)
