"""arrival/fifo: who came first enters first."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "jumped")


INVARIANT = promise(
    sentence="Waiting requests enter free slots in the order in which they were added.",
    why="First in, first out is what makes every wait bounded: a later arrival can never keep an earlier one out.",
    seen_in=(
        "vllm-project/vllm#33522",
        "vllm-project/vllm#31731",
    ),
    does_not_say="That they finish in that order, or what a quantum does to requests that run (the fair profile).",
    check=check,
    witness=occasion("two wait"),
    mutants=(
        Mutant(
            "popitem(last=False)",
            "popitem(last=True)",
        ),
        Mutant(
            "            self._waiting[sequence.request_id] = sequence\n",
            "            self._waiting[sequence.request_id] = sequence\n"
            "            self._waiting = OrderedDict(sorted(self._waiting.items(), key=lambda item: "
            "item[1].limit))\n",
        ),
    ),
)
