"""The engine profile's promises, and the judgement of one history by all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from conformance.catalogue import EVERY
from conformance.engine.events import History
from conformance.engine.promise import EngineViolation
from conformance.engine.reading import Reading, read
from conformance.invariant import Invariant
from reference.vocabulary import Dialect

ENGINE = {name: invariant for name, invariant in EVERY.items() if invariant.profile == "engine"}
INDEPENDENT = "id/independent"  # a fact of two engines, which no single history shows


@dataclass(frozen=True)
class Judgement:
    """One history, judged. From its first fault on it says nothing about the other promises: they are blocked."""

    reading: Reading
    violations: dict[str, EngineViolation]
    judged: frozenset[str]
    blocked: frozenset[str]


def judge(history: History, dialect: Dialect, catalogue: Iterable[Invariant] | None = None) -> Judgement:
    """Judge one history by every promise that speaks of its situation."""
    return judged(read(history, dialect), catalogue)


def judged(reading: Reading, catalogue: Iterable[Invariant] | None = None) -> Judgement:
    """Judge what was read so far; of use where a history is read event by event."""
    if catalogue is None and reading.clean and not reading.changed:
        return Judgement(reading, {}, _every(reading.situation), frozenset())
    spoken = [i for i in (ENGINE.values() if catalogue is None else catalogue) if reading.situation in i.situations]
    violations: dict[str, EngineViolation] = {}
    for invariant in spoken:
        check: Any = invariant.check
        violation = check(reading)
        if violation is not None:
            violations[invariant.name] = violation
    names = frozenset(invariant.name for invariant in spoken)
    blocked = frozenset() if reading.clean else names - violations.keys()
    return Judgement(reading, violations, names - blocked, blocked)


@cache
def _every(situation: str) -> frozenset[str]:
    return frozenset(name for name, invariant in ENGINE.items() if situation in invariant.situations)
