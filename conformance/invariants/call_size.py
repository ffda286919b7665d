"""call/size: how many sequences one call may carry, and in what form."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    split = found.divergence
    if split is None:
        return None
    call, num_slots = found.run.calls[split.call], found.run.workload.num_slots
    if call.malformed:
        return Violation(split.call, "a list of lists of ints", call.malformed)
    if found.dialect.batch == "compact" and len(call.rows) > num_slots:
        return Violation(split.call, f"at most {num_slots} sequences", f"{len(call.rows)} sequences")
    return None


def witness(found: Attribution) -> bool:
    """More requests want tokens at once than there are slots."""
    return sum(map(bool, found.limits)) > found.run.workload.num_slots


INVARIANT = Invariant(
    level="MUST",
    sentence="A call carries at most `num_slots` sequences, as a list of lists of ints: "
    '"one call receives at most num_slots sequences".',
    why="The number of slots is the memory that was reserved; one row more does not fit a real accelerator.",
    seen_in=("GeeeekExplorer/nano-vllm#265", "GeeeekExplorer/nano-vllm#271"),
    does_not_say="Anything about the order of the rows. For a padded batch, see pad/shape.",
    check=check,
    witness=witness,
    mutants=(
        Mutant("[None] * num_slots", "[None] * (num_slots + 1)"),
        Mutant("batch = [slot.prefix()", "batch = [tuple(slot.prefix())"),
    ),
)
