"""preempt/back: who yields comes back, when it is its turn."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation
from conformance.fair.promise import first, promise
from conformance.fair.reading import FairReading
from conformance.invariant import Mutant


def check(found: FairReading) -> EngineViolation | None:
    return first(found, "not back", "out of line")


def witness(found: FairReading) -> bool:
    """Somebody who has yielded enters again, while others wait."""
    return "resumes beside others that wait" in found.occasions


INVARIANT = promise(
    sentence="Who yields goes to the back of the queue: it enters again after all who waited then, those included that "
    "yielded just before it, and before all who come later.",
    why="At the head it would be back at once, and two would take turns while the others starve; behind those who come "
    "later, it would never be back.",
    seen_in=("vllm-project/vllm#33522", "vllm-project/vllm#40004"),
    does_not_say="The order of those that have not run yet (arrival/fifo).",
    check=check,
    witness=witness,
    mutants=(
        Mutant(
            "            self._waiting[sequence.request_id] = sequence\n",
            "            self._waiting[sequence.request_id] = sequence\n"
            "            self._waiting.move_to_end(sequence.request_id, last=False)\n",
        ),
        Mutant(
            "            _, newcomer = self._waiting.popitem(last=False)\n",
            "            fresh = [s for s in self._waiting.values() if not s.generated] or [*self._waiting.values()]\n"
            "            newcomer = self._waiting.pop(fresh[0].request_id)\n",
        ),
        Mutant(
            "        for sequence in due[: len(self._waiting)]:\n",
            "        for sequence in due[: len(self._waiting)][::-1]:\n",
        ),
    ),
)
