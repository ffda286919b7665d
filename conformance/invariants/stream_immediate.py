"""stream/immediate: no token is kept back."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "token missing")


INVARIANT = promise(
    sentence="A token is emitted by the step that generated it, the last one together with the ending; put together, a "
    "request's tokens are what `generate` returns for it.",
    why="The point of streaming is to read while the model writes; and a token that is kept back is easily lost "
    "at the end.",
    seen_in=(
        "vllm-project/vllm#42117",
        "lmstudio-ai/lmstudio-bug-tracker#2335",
        "Lightning-AI/litgpt#2302",
    ),
    does_not_say="Anything of text: bytes that wait for the rest of a character are not tokens.",
    check=check,
    witness=occasion("a token"),
    mutants=(
        Mutant(
            "return StepOutput(sequence.request_id, shown, sequence.finish_reason)",
            'return StepOutput(sequence.request_id, None if sequence.finish_reason == "length" else '
            "shown, sequence.finish_reason)",
        ),
        Mutant(
            "                outputs.append(self._take(sequence, token))\n",
            "                output = self._take(sequence, token)\n"
            "                outputs += [output] if output.finish_reason or len(sequence.generated) > "
            "1 else []\n",
        ),
    ),
)
