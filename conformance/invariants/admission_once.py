"""admission/once: nobody starts again, nobody comes back."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    split = found.divergence
    if split is None:
        return None
    for stranger in split.strangers:
        if stranger.kind == "restart":
            assert stranger.request is not None
            name, reason = found.name(stranger.request), found.ledger.finished.get(stranger.request)
            state = f"finished ({reason})" if reason else "is in progress"
            return Violation(
                split.call,
                f"no second start of {name}, which {state}",
                f"the row {list(stranger.row)} serves it again",
                stranger.request,
            )
    return None


def witness(found: Attribution) -> bool:
    """Some request has finished, or has tokens, at a later call."""
    return len(found.owners) > 1


INVARIANT = Invariant(
    level="MUST",
    sentence="A request is admitted once: it never starts again from its prompt, and never returns after it finished "
    '("a slot holds one request in progress").',
    why="A second start doubles the cost, and the reader gets a mixture of two attempts.",
    seen_in=("sgl-project/sglang#39645", "vllm-project/vllm#52693"),
    does_not_say="That it may not pause; that is slot/held, or the fair profile's to allow.",
    check=check,
    witness=witness,
    mutants=(
        Mutant(
            "                slots[index] = Slot(waiting.popleft())",
            "                slots[index] = Slot(waiting.popleft())\n"
            "                if len(waiting) == 1:\n                    waiting.append(slots[index].request)",
        ),
    ),
)
