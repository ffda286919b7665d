"""id/reusable: an old id is a new name."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.engine.script import Script
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "reuse refused", "lost as a newcomer", "token to a newcomer")


INVARIANT = promise(
    sentence="After its ending was delivered, or after an abort, an id can be used again at once, even inside the same "
    "call; the new request shares nothing with the old one.",
    why="Clients retry under the id that they have. What is bound to a name finds the wrong owner; what is bound "
    "to a submission cannot.",
    seen_in=(
        "vllm-project/vllm#42492",
        "vllm-project/vllm#23697",
        "sgl-project/sglang#24070",
        "vllm-project/vllm#15041",
    ),
    does_not_say="Anything of ids that are live (id/duplicate).",
    check=check,
    witness=occasion("id again"),
    control=Script.with_distinct_ids,
    mutants=(
        Mutant(
            "self._live.pop(request_id, None)",
            "self._live.get(request_id)",
        ),
        Mutant(
            "            if self._live.get(sequence.request_id) is sequence:\n",
            "            if sequence.request_id in self._live:\n",
        ),
        Mutant(
            "            if sequence is not None and sequence.finish_reason is None:\n                outputs",
            "            if sequence is not None and sequence.request_id in self._live:\n"
            "                sequence = self._live[sequence.request_id]\n"
            "                outputs",
        ),
    ),
)
