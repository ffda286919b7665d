"""arrival/one-call: what a step costs."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "too many rows", "needless call", "call shape")


INVARIANT = promise(
    sentence="A step makes at most one call, of at most `num_slots` rows, and none when nobody runs or waits; only a "
    "step calls the model.",
    why="The caller of `step` decides between calls what to do next. A second call takes that away, an empty one "
    "costs a full pass, and a row too many is memory that was never reserved.",
    seen_in=("GeeeekExplorer/nano-vllm#265",),
    does_not_say="That a call is made when somebody can run: who is missing from it is said by the promises about that "
    "request.",
    check=check,
    witness=occasion("idle step"),
    mutants=(
        Mutant(
            "self._slots: list[Sequence | None] = [None] * num_slots",
            "self._slots: list[Sequence | None] = [None] * (num_slots + 1)",
        ),
        Mutant(
            "        if not running:\n",
            "        if not running and self._ended:\n",
        ),
    ),
)
