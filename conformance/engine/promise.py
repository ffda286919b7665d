"""An invariant of the engine profile: the type of the core, with a check that takes a `Reading`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.engine.causes import Cause
from conformance.engine.reading import Reading
from conformance.engine.script import Script
from conformance.invariant import Invariant, Level, Mutant, Violation

ORDINARY: frozenset[str] = frozenset({"plain", "arguments", "reply"})


@dataclass(frozen=True)
class EngineViolation(Violation):
    """Where an engine breaks an invariant: in step `call`, counted from 1, at event `event` of the history, from 0."""

    event: int = 0
    cause: str = ""
    request_id: str | None = None


Check = Callable[[Reading], EngineViolation | None]


def promise(
    *,
    sentence: str,
    why: str,
    does_not_say: str,
    check: Check,
    witness: Callable[[Reading], bool],
    mutants: tuple[Mutant, ...],
    level: Level = "MUST",
    seen_in: tuple[str, ...] = (),
    situations: frozenset[str] = ORDINARY,
    control: Callable[[Script], Script] | None = None,
) -> Invariant:
    """Make an invariant of the engine profile; `mutants` are edits of `reference/engine.py`.

    `control` takes the circumstance that the promise is about out of a script: a fault that is still
    there has another cause, and is charged as what it is there.
    """
    loose: Any = {"check": check, "witness": witness, "control": control}
    return Invariant(
        level=level,
        sentence=sentence,
        why=why,
        does_not_say=does_not_say,
        mutants=mutants,
        seen_in=seen_in,
        situations=situations,
        profile="engine",
        **loose,
    )


def first(found: Reading, *causes: Cause) -> EngineViolation | None:
    """The fault of the divergence that has one of these causes, as a violation."""
    fault = found.earliest(*causes)
    if fault is None:
        return None
    return EngineViolation(
        fault.step,
        fault.expected,
        fault.observed,
        event=fault.event,
        cause=fault.cause,
        request_id=fault.request_id,
    )


def occasion(*names: str) -> Callable[[Reading], bool]:
    """A witness: the history was an occasion for one of these."""
    return lambda found: not found.occasions.isdisjoint(names)
