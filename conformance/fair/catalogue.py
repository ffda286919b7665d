"""The promises of the fair profile, with those of the engine profile, and the judgement of one history by all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from conformance.catalogue import EVERY
from conformance.engine.catalogue import ENGINE, INDEPENDENT
from conformance.engine.events import History
from conformance.engine.promise import EngineViolation
from conformance.fair.reading import FairReading, read
from reference.vocabulary import Dialect

TURNS = {name: invariant for name, invariant in EVERY.items() if invariant.profile == "fair"}
# What two engines do to each other has nothing to do with a quantum; the engine profile looks at it.
SHARED = {f"fair:{name}": invariant for name, invariant in ENGINE.items() if name != INDEPENDENT}
FAIR = TURNS | SHARED
MUST = frozenset(name for name, invariant in FAIR.items() if invariant.level == "MUST")


@dataclass(frozen=True)
class Judgement:
    """One history, judged. From its first fault on, only the watch on waiting says more: the rest is blocked."""

    reading: FairReading
    violations: dict[str, EngineViolation]
    judged: frozenset[str]
    blocked: frozenset[str]


def judge(history: History, dialect: Dialect, quantum: int, catalogue: Iterable[str] = FAIR) -> Judgement:
    """Judge one history by every promise that speaks of its situation."""
    return judged(read(history, dialect, quantum), catalogue)


def judged(reading: FairReading, catalogue: Iterable[str] = FAIR) -> Judgement:
    """Judge what was read so far."""
    spoken = [name for name in catalogue if reading.situation in FAIR[name].situations]
    violations: dict[str, EngineViolation] = {}
    wrong = not reading.clean or reading.changed or reading.watch.late
    for name in spoken if wrong else ():
        check: Any = FAIR[name].check
        violation = check(reading)
        if violation is not None:
            violations[name] = violation
    blocked = frozenset() if reading.clean else frozenset(spoken) - violations.keys()
    return Judgement(reading, violations, frozenset(spoken) - blocked, blocked)
