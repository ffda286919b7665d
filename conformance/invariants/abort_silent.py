"""abort/silent: no token after the abort."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "token after abort")


INVARIANT = promise(
    sentence="After `abort_request` no token of the request is emitted; one that was in flight is dropped, also when "
    "its id is already taken by a new request.",
    why="Whoever aborted has let go of what the tokens went to: a closed connection, a buffer that is somebody "
    "else's by now.",
    seen_in=(
        "vllm-project/vllm#42492",
        "vllm-project/vllm#29987",
    ),
    does_not_say="That the ending comes with the abort; stream/one-ending says when it does.",
    check=check,
    witness=occasion("abort in flight"),
    mutants=(
        Mutant(
            "            if sequence is not None and sequence.finish_reason is None:\n                outputs",
            "            if sequence is not None:\n                outputs",
        ),
        Mutant(
            "        return [StepOutput(sequence.request_id, None, sequence.finish_reason) for sequence in ended]",
            "        return [StepOutput(s.request_id, s.generated[-1] if s.generated else None, "
            "s.finish_reason) for s in ended]",
        ),
    ),
)
