"""abort/isolated: an abort is nobody else's business."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.engine.script import Script
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "lost beside an abort", "abort raised", "lost to an early abort")


INVARIANT = promise(
    sentence="An abort changes nothing for any other request; of an unknown, finished or aborted id it has no effect "
    "and raises nothing, also not on a request that takes the id later.",
    why="Aborts come from lost connections, at any moment and often twice; whoever else is served must not notice.",
    seen_in=(
        "turboderp-org/exllamav3#227",
        "Blaizzy/mlx-vlm#2147",
        "sgl-project/sglang-omni#611",
        "vllm-project/vllm#23697",
    ),
    does_not_say="That the others keep their slots or their places in the batch, which nobody can see.",
    check=check,
    witness=occasion("abort beside others", "abort of nobody"),
    control=Script.without_aborts,
    mutants=(
        Mutant(
            "        self._waiting.pop(request_id, None)\n",
            "        self._waiting.clear()\n",
        ),
        Mutant(
            "        sequence = self._live.pop(request_id, None)\n",
            "        sequence = self._live.pop(request_id)\n",
        ),
        Mutant(
            "        if sequence.finish_reason is None:\n"
            "            self._ended.append(sequence)\n"
            '        sequence.finish_reason = "abort"\n',
            "        if sequence.finish_reason is None:\n"
            "            self._ended.append(sequence)\n"
            '        sequence.finish_reason = "abort"\n'
            "        self._slots = self._slots[1:] + self._slots[:1] if sequence is self._slots[0] "
            "else [s if s is None or s.finish_reason or s is self._slots[0] else None for s in "
            "self._slots]\n",
        ),
    ),
)
