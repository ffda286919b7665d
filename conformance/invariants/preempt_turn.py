"""preempt/turn: who makes room, and when. It takes the place of slot/held."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation
from conformance.fair.promise import first, promise
from conformance.fair.reading import FairReading
from conformance.invariant import Mutant


def check(found: FairReading) -> EngineViolation | None:
    return first(found, "stayed", "put out")


def witness(found: FairReading) -> bool:
    """Somebody has to make room for another."""
    return "somebody yields" in found.occasions


INVARIANT = promise(
    sentence="When free slots are filled and requests still wait, as many running requests yield as wait, if that many "
    "have had quantum tokens in a row; those first that were admitted first. Nobody else is out of a call before it "
    "ends, and after a step that returned nobody yields twice.",
    why="Each turn costs a prefix that has to be computed again, so there are as many as fairness needs and no more: "
    "nobody yields to an empty queue, or before the quantum is over, or because a call has failed.",
    seen_in=("vllm-project/vllm#25538",),
    does_not_say="Which slot, or which row of a batch, a newcomer gets.",
    check=check,
    witness=witness,
    mutants=(
        Mutant("- had >= self._quantum", "- had > self._quantum"),
        Mutant("for sequence in due[: len(self._waiting)]:", "for sequence in due[:1] if self._waiting else []:"),
        Mutant("for sequence in due[: len(self._waiting)]:", "for sequence in due[::-1][: len(self._waiting)]:"),
        Mutant("len(sequence.generated) - had >= self._quantum]", "len(sequence.generated) >= self._quantum]"),
        Mutant("if not self._turned:", "if not self._turned and len(self._waiting) > 1:"),
    ),
)
