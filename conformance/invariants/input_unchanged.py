"""input/unchanged: what belongs to the caller stays as it was."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    if not found.run.inputs_changed:
        return None
    return Violation(len(found.run.calls), "the requests as they were before the run", found.run.inputs_changed)


def witness(found: Attribution) -> bool:
    """There is something to change."""
    return any(ask.prompt for ask in found.run.workload.asks)


INVARIANT = Invariant(
    level="MUST",
    sentence="`requests`, every prompt and every field are as before, at the return and at the raise.",
    why="The caller may use the list again, for a retry or to pair answers with prompts.",
    seen_in=("sgl-project/sglang#17240",),
    does_not_say="That the rows handed to the model are copies; see row/private.",
    check=check,
    witness=witness,
    situations=frozenset({"plain", "raises"}),
    evidence="reported",
    mutants=(
        Mutant(
            "waiting = deque(request for request in requests if dialect.limit(request) > 0)",
            "waiting = deque(r for r in requests if dialect.limit(r) > 0); requests.clear()",
        ),
        Mutant("[*self.request.prompt, *self.generated]", "self.request.prompt.__iadd__(self.generated[-1:])[:]"),
    ),
)
