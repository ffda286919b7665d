"""arrival/unchanged: a request is its caller's."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    if not found.changed:
        return None
    return EngineViolation(found.steps, "every request as it was added", found.changed, event=found.events)


INVARIANT = promise(
    sentence="An engine changes nothing in the requests that it was given.",
    why="Callers log requests, retry them, and send one prompt object many times.",
    seen_in=("sgl-project/sglang#17240",),
    does_not_say="That the engine sees what the caller changes in a request after it was added; it may copy, or not.",
    check=check,
    witness=occasion("a token"),
    mutants=(
        Mutant(
            "        self._live[sequence.request_id] = sequence\n",
            "        self._live[sequence.request_id] = sequence\n        request.max_tokens -= 1\n",
        ),
        Mutant(
            "        sequence = Sequence(request.request_id, list(request.prompt), self._dialect.limit(request))\n",
            "        sequence = Sequence(request.request_id, list(request.prompt), "
            "self._dialect.limit(request))\n"
            "        request.prompt.clear()\n",
        ),
    ),
)
