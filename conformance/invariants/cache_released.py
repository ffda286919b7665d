"""cache/released: nothing stays behind."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.cached.attribution import cached
from conformance.cached.history import left_over
from conformance.history import Raised, Returned
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    run = cached(found).cached
    left = left_over(run)
    if not left or not isinstance(run.outcome, Returned | Raised):
        return None
    slot, line = min(left.items())
    end = "return" if isinstance(run.outcome, Returned) else "raise"
    owner = cached(found).last.get(slot)
    whose = "" if owner is None else f" of {found.name(owner)}"
    return Violation(
        len(run.forwards), f"every line to be empty at the {end}", f"slot {slot} holds {list(line)}{whose}", owner
    )


def witness(found: Attribution) -> bool:
    """Something was written into a line."""
    return any(new for forward in cached(found).cached.forwards if forward.answered for _, new in forward.rows)


INVARIANT = Invariant(
    level="SHOULD",
    sentence="At the return, and at the raise, no line is left holding a request.",
    why="The model outlives the run: its memory stays taken, and a private text stays in it, until somebody happens to "
    "use the slot again.",
    seen_in=("sgl-project/sglang#17483", "vllm-project/vllm#17738"),
    does_not_say="That a line must be emptied at once: emptying it when the next request enters is legal, and what is "
    "left at the end is then reported here and nowhere else.",
    check=check,
    witness=witness,
    at_end=True,
    situations=frozenset({"plain", "raises"}),
    profile="cached",
    mutants=(
        Mutant(
            "    finally:\n        for index, slot in enumerate(slots):\n            if slot is not None:\n"
            "                model.reset(index)",
            "    finally:\n        pass",
        ),
        Mutant(
            "                    slots[index] = None\n                    model.reset(index)",
            "                    slots[index] = None\n                    if waiting:\n"
            "                        model.reset(index)",
        ),
    ),
)
