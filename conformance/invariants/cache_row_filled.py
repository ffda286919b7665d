"""cache/row-filled: a row brings something."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.cached.attribution import cached, slipped
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    return slipped(found, "nothing")


def witness(found: Attribution) -> bool:
    """A row goes on in a line that is in use, or slots are idle."""
    slots = [slot for forward in cached(found).cached.forwards for slot, _ in forward.rows]
    return len(set(slots)) < len(slots) or len(set(slots)) < found.run.workload.num_slots


INVARIANT = Invariant(
    level="MUST",
    sentence="A row has at least one new token, but for the first row of an empty prompt.",
    why="A model has nothing to compute for a row without tokens: real ones crash, or answer with the last reply "
    "again. Somebody has lost count of what is in the line.",
    seen_in=("vllm-project/vllm#7283", "ollama/ollama#14430"),
    does_not_say="How a real model is to begin an empty prompt; it will need a token to begin with.",
    check=check,
    witness=witness,
    situations=frozenset({"plain", "sampled", "raises"}),
    profile="cached",
    implied_by=("row/prefix", "admission/once", "finish/stop"),
    mutants=(
        Mutant("slot.unwritten = [token]", "slot.unwritten = slot.generated[len(slot.request.prompt) :]"),
        Mutant(
            "batch = [(index, slot.unwritten) for index, slot in occupied]",
            "batch = [(index, slot.unwritten if slot else []) for index, slot in enumerate(slots)]",
        ),
    ),
)
