"""admission/fifo: who enters first."""

from __future__ import annotations

from conformance.absence import caused
from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    split = found.divergence
    if split is None:
        return None
    entered = [r for r in split.seen if r not in split.running]
    jumped = {absence.request for absence in caused(found, "jumped")}
    passed = [w for w in found.ledger.waiting if w in jumped or (w not in split.entering and w not in entered)]
    for waiting in passed:
        for other in entered:
            if waiting < other:
                return Violation(
                    split.call,
                    f"{found.name(waiting)} to enter before {found.name(other)}",
                    f"{found.name(other)} entered, {found.name(waiting)} did not",
                    waiting,
                )
    return None


def witness(found: Attribution) -> bool:
    """A slot is refilled while two requests wait, so that there is a choice."""
    return sum(map(bool, found.limits)) >= found.run.workload.num_slots + 2


INVARIANT = Invariant(
    level="MUST",
    sentence='Requests enter slots in the order of `requests`: "waiting requests are admitted in the order of '
    'requests".',
    why="First in, first out is what makes waiting bounded, and a run determined by the replies alone.",
    seen_in=("vllm-project/vllm#33522", "vllm-project/vllm#31731"),
    does_not_say="That they finish in that order; they do not.",
    check=check,
    witness=witness,
    mutants=(
        Mutant("waiting.popleft()", "waiting.pop()"),
        Mutant(
            "deque(request for request in requests if dialect.limit(request) > 0)",
            "deque(sorted((r for r in requests if dialect.limit(r) > 0), key=lambda r: r.max_tokens))",
        ),
    ),
)
