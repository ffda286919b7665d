"""arrival/rejected: bad arguments."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "bad arguments taken")


INVARIANT = promise(
    level="SHOULD",
    sentence="Fewer than one slot, and a negative `max_tokens`, are a ValueError at once, which changes nothing.",
    why="A request that can never be served is an error of its caller, not a hang of everybody.",
    seen_in=("ggml-org/llama.cpp#9933",),
    does_not_say="Anything of the types of arguments.",
    check=check,
    witness=occasion("bad arguments"),
    mutants=(
        Mutant(
            "check_arguments([request], len(self._slots))",
            "check_arguments([], len(self._slots))",
        ),
        Mutant(
            "        check_arguments([], num_slots)\n",
            "",
        ),
    ),
)
