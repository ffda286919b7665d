"""scale/steady: size is no obstacle."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    """Judge nothing: one run has no growth. `steady.py` compares the work of runs of different sizes."""
    return None


def witness(found: Attribution) -> bool:
    """There are requests that wait while others are served."""
    return sum(map(bool, found.limits)) > found.run.workload.num_slots


INVARIANT = Invariant(
    level="SHOULD",
    sentence="Long outputs, many requests and many slots work, with overhead per call that does not grow with what is "
    "already done or still waiting.",
    why="A queue that is copied for every admission is right in every test and stalls the server in production.",
    seen_in=("sgl-project/sglang-omni#611", "vllm-project/vllm#15041"),
    does_not_say="Anything of the cost of building a row, which has to grow with its length.",
    check=check,
    witness=witness,
    evidence="reported",
    mutants=(
        Mutant(
            "waiting.popleft()",
            "(lambda head: ([waiting.remove(w) for w in list(waiting) if w is head], head)[1])(waiting[0])",
        ),
    ),
)
