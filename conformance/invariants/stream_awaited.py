"""stream/awaited: when the caller may stop stepping."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "says finished", "says unfinished")


INVARIANT = promise(
    sentence="`has_unfinished_requests` is True from a submission until its ending was delivered, and False when no "
    "ending is owed to anybody.",
    why="It is the condition of the caller's loop: False too early leaves readers without an ending, True for "
    "ever burns a processor.",
    seen_in=(
        "vllm-project/vllm#15041",
        "vllm-project/vllm#52693",
    ),
    does_not_say="What it says inside of a call.",
    check=check,
    witness=occasion("only endings are left"),
    mutants=(
        Mutant(
            "return bool(self._live or self._ended)",
            "return bool(self._live)",
        ),
        Mutant(
            "return bool(self._live or self._ended)",
            "return bool(self._waiting or any(s and not s.finish_reason for s in self._slots))",
        ),
        Mutant(
            "            if self._live.get(sequence.request_id) is sequence:\n",
            "            if False:\n",
        ),
    ),
)
