"""abort/frees-slot: nobody computes for a reader who has left."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.engine.script import Script
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "aborted row", "aborted seat")


INVARIANT = promise(
    sentence="After an abort no call has a row of the request, and its slot is free for the next call; one that waited "
    "is never started.",
    why="Cancelled work is the cheapest work to save. A slot that is not freed is lost until a restart, with "
    "every health check green.",
    seen_in=(
        "ggml-org/llama.cpp#24496",
        "am17an/llama.cpp#20",
        "InternLM/lmdeploy#380",
        "turboderp-org/exllamav3#227",
    ),
    does_not_say="That the call under way is interrupted: its row is there already.",
    check=check,
    witness=occasion("abort frees a slot for another"),
    control=Script.without_aborts,
    mutants=(
        Mutant(
            "sequence is not None and sequence.finish_reason is None:\n                continue",
            'sequence is not None and sequence.finish_reason in (None, "abort"):\n                continue',
        ),
        Mutant(
            "        self._waiting.pop(request_id, None)\n",
            "",
        ),
        Mutant(
            "self._slots[index] = self._waiting.popitem(last=False)[1] if self._waiting else None",
            "self._slots[index] = self._waiting.popitem(last=False)[1] if self._waiting else None\n"
            '            if sequence is not None and sequence.finish_reason == "abort" and '
            "self._slots[index] is not None:\n"
            "                self._waiting[self._slots[index].request_id] = self._slots[index]\n"
            "                self._waiting.move_to_end(self._slots[index].request_id, last=False)\n"
            "                self._slots[index] = None",
        ),
    ),
)
