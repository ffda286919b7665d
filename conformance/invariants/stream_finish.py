"""stream/finish: a request ends when it should, and says why."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "finished row", "row of nothing", "finish early", "finish late", "finish misnamed")


INVARIANT = promise(
    sentence="A request ends with the first generated stop token, as `stop`, even in the last allowed position; else "
    "with its last allowed token, as `length`; one with nothing to generate ends as `length` and never "
    "reaches the model.",
    why="Clients go on by the reason: `length` makes them ask for more, `stop` makes them believe that the answer "
    "is whole.",
    seen_in=(
        "vllm-project/vllm#57584",
        "lvyufeng/PocketLLM#133",
        "vllm-project/vllm#27922",
        "sgl-project/sglang#772",
    ),
    does_not_say="Anything of `abort`, beyond that nobody ends so who was not aborted.",
    check=check,
    witness=occasion("stop at the limit", "ends as length"),
    mutants=(
        Mutant(
            '"stop" if stopped else "length"',
            '"length" if len(sequence.generated) == sequence.limit else "stop"',
        ),
        Mutant(
            "stopped = token == self._stop_token",
            "stopped = token == self._stop_token and len(sequence.generated) > 1",
        ),
        Mutant(
            "len(sequence.generated) == sequence.limit",
            "len(sequence.generated) > sequence.limit",
        ),
        Mutant(
            "        if sequence.limit:\n            self._waiting",
            "        if True:\n            self._waiting",
        ),
    ),
)
