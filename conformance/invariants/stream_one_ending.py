"""stream/one-ending: nobody waits for ever, and nobody is told twice."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "ending missing", "ending twice", "ending out of order")


INVARIANT = promise(
    sentence="Every submission gets exactly one ending, also when it was aborted or had nothing to generate: at the "
    "latest from the next step that begins after it ended and returns; and before anything of a new "
    "submission with its id.",
    why="A reader waits for the ending. Without one it waits for ever; with two, the second one ends a stranger's "
    "stream.",
    seen_in=(
        "vllm-project/vllm#15041",
        "huggingface/transformers#42943",
        "huggingface/text-generation-inference#2754",
        "vllm-project/vllm#891",
    ),
    does_not_say="Whether an abort from inside a call is confirmed by the step under way or by the next one; both are "
    "right.",
    check=check,
    witness=occasion("ends as abort", "nothing to generate"),
    mutants=(
        Mutant(
            "        self._waiting.pop(request_id, None)\n        if sequence.finish_reason is None:\n",
            "        waited = self._waiting.pop(request_id, None)\n"
            "        if sequence.finish_reason is None and waited is None:\n",
        ),
        Mutant(
            "        if sequence.finish_reason is None:\n            self._ended.append(sequence)\n",
            "        if sequence.finish_reason is None:\n            self._ended += [sequence, sequence]\n",
        ),
        Mutant(
            "        outputs = self._deliver()\n"
            "        for sequence, token in zip(sent, tokens, strict=True):\n"
            "            # The caller may have aborted a request while the model was at it: its token "
            "is dropped.\n"
            "            if sequence is not None and sequence.finish_reason is None:\n"
            "                outputs.append(self._take(sequence, token))\n"
            "        return outputs\n",
            "        outputs = []\n"
            "        for sequence, token in zip(sent, tokens, strict=True):\n"
            "            if sequence is not None and sequence.finish_reason is None:\n"
            "                outputs.append(self._take(sequence, token))\n"
            "        return outputs + self._deliver()\n",
        ),
    ),
)
