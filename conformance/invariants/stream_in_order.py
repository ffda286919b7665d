"""stream/in-order: a stream is the request's own tokens, one by one."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "malformed outputs", "wrong token", "token twice", "output of nobody")


INVARIANT = promise(
    sentence="The tokens emitted for a request are those that the model returned for its rows, each once, in order; a "
    "stop token is shown or not as the dialect says.",
    why="Readers put a stream together and cannot tell a doubled or a foreign token from a real one.",
    seen_in=(
        "OpenNMT/CTranslate2#1425",
        "NVIDIA/TensorRT-LLM#2777",
        "triton-inference-server/tensorrtllm_backend#167",
        "labscommunity/cascadia#116",
    ),
    does_not_say="Anything of the order in which one step lists different requests.",
    check=check,
    witness=occasion("several rows"),
    mutants=(
        Mutant(
            "zip(sent, tokens, strict=True)",
            "zip(sent, tokens[::-1], strict=True)",
        ),
        Mutant(
            "return StepOutput(sequence.request_id, shown, sequence.finish_reason)",
            "return StepOutput(sequence.request_id, sequence.generated[0], sequence.finish_reason)",
        ),
        Mutant(
            '"excluded" else token',
            '"included" else token',
            "stop_token=excluded",
        ),
    ),
)
