"""An invariant of the fair profile: the type of the core, with a check that takes a `FairReading`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.engine.promise import ORDINARY, EngineViolation
from conformance.fair.reading import FairReading
from conformance.fair.script import FairScript
from conformance.fair.turns import TurnCause
from conformance.invariant import Invariant, Mutant

Check = Callable[[FairReading], EngineViolation | None]


def promise(
    *,
    sentence: str,
    why: str,
    does_not_say: str,
    check: Check,
    witness: Callable[[FairReading], bool],
    mutants: tuple[Mutant, ...],
    seen_in: tuple[str, ...] = (),
    implied_by: tuple[str, ...] = (),
    control: Callable[[FairScript], FairScript] | None = None,
) -> Invariant:
    """Make an invariant of the fair profile; `mutants` are edits of `reference/fair.py`."""
    loose: Any = {"check": check, "witness": witness, "control": control}
    return Invariant(
        level="MUST",
        sentence=sentence,
        why=why,
        does_not_say=does_not_say,
        mutants=mutants,
        seen_in=seen_in,
        implied_by=implied_by,
        situations=ORDINARY,
        profile="fair",
        **loose,
    )


def first(found: FairReading, *causes: TurnCause) -> EngineViolation | None:
    """The fault of the divergence that has one of these causes, as a violation."""
    for fault in found.turn_faults:
        if fault.cause in causes:
            return EngineViolation(
                fault.step,
                fault.expected,
                fault.observed,
                event=fault.event,
                cause=fault.cause,
                request_id=fault.request_id,
            )
    return None
