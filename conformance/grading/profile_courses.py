"""How each profile is examined behind the wire: its study, its legs by effort, and its counterexamples as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, Protocol

from conformance.cached import catalogue as cached_catalogue
from conformance.cached import report as cached_report
from conformance.cached.driving import CachedSession
from conformance.cached.driving import drive_session as drive_cached
from conformance.cached.legs import LEGS as CACHED_LEGS
from conformance.cached.study import Study as CachedStudy
from conformance.engine import catalogue as engine_catalogue
from conformance.engine import report as engine_report
from conformance.engine import scope as engine_scope
from conformance.engine.drive import drive
from conformance.engine.script import Script
from conformance.engine.study import LEGS as ENGINE_LEGS
from conformance.engine.study import Study as EngineStudy
from conformance.fair import catalogue as fair_catalogue
from conformance.fair import report as fair_report
from conformance.fair.study import LEGS as FAIR_LEGS
from conformance.fair.study import Study as FairStudy
from conformance.grading.dialects import probes
from conformance.grading.isolated import IsolatedImplementation
from conformance.grading.referee_legs import one_of
from conformance.grading.remote import RemoteImplementation, RemoteSubject
from conformance.grading.schema import ProfileExample, ProfileName, ScriptData, session_data
from conformance.invariant import Invariant
from reference.vocabulary import Dialect

Effort = Literal["quick", "default", "thorough"]
LONGEST = 400  # characters of expected and observed
PROBES = 40  # one of so many of the first look tells the dialect
EVERY: dict[Effort, int] = {"quick": 8, "default": 2, "thorough": 1}  # one of so many of a leg's lives
DETAILED: tuple[Effort, ...] = ("thorough",)


@dataclass(frozen=True)
class Part:
    """A leg of the search: `work` yields after each life or run. Only those that are `naming` go on after a finding."""

    name: str
    bound: str
    work: Callable[[], Iterator[None]]
    naming: bool = True


class Course(Protocol):
    """The examination of one profile."""

    held: IsolatedImplementation
    dialect: Dialect

    @property
    def catalogue(self) -> Mapping[str, Invariant]: ...

    @property
    def broken(self) -> bool: ...

    @property
    def runs(self) -> int: ...

    def plan(self, effort: Effort, seed: int) -> list[Part]: ...

    def judged(self, label: str) -> int: ...

    def blocked(self, label: str) -> list[str]: ...

    def example(self, label: str) -> ProfileExample:
        """The counterexample; raises KeyError where nothing was found."""

    def readings(self, possible: Sequence[Dialect]) -> Counter[Dialect]: ...


class _Course:
    """What the three have in common; `study` is the profile's own."""

    study: Any

    def __init__(self, held: IsolatedImplementation, dialect: Dialect) -> None:
        self.held, self.dialect = held, dialect

    @property
    def broken(self) -> bool:
        return bool(self.study.broken)

    @property
    def hopeless(self) -> bool:
        """Whether its process has ended so often that its dialect does not matter."""
        return len(self.held.ends) > 1

    @property
    def runs(self) -> int:
        return int(self.study.runs)

    def judged(self, label: str) -> int:
        return int(self.study.judged[label])

    def blocked(self, label: str) -> list[str]:
        return sorted(self.study.blocked.get(label, {}))


class EngineCourse(_Course):
    """`Engine(model, num_slots, stop_token)`."""

    catalogue = engine_catalogue.ENGINE

    def __init__(self, held: IsolatedImplementation, dialect: Dialect) -> None:
        super().__init__(held, dialect)
        self.study = EngineStudy(RemoteSubject(held, dialect), shrinking=False)

    def plan(self, effort: Effort, seed: int) -> list[Part]:
        every = EVERY[effort]
        legs = ENGINE_LEGS if effort in DETAILED else ENGINE_LEGS[:1]
        parts = [_sample(leg, every, seed, self.study) for leg in legs]
        pairs = Part("two engines", "162 pairs, in turn or one inside the other", self._beside)
        return [parts[0], pairs, *parts[1:]]

    def _beside(self) -> Iterator[None]:
        self.study.beside()
        yield

    def example(self, label: str) -> ProfileExample:
        found = self.study.findings[label]
        text = engine_report.block(found, self.study.dialect)
        place, beside = f"in step {max(1, found.violation.call)}", found.beside and script_data(found.beside)
        script = script_data(found.script)
        return _example(found.violation, place, found.leg, text, script=script, beside=beside, nested=found.nested)

    def readings(self, possible: Sequence[Dialect]) -> Counter[Dialect]:
        """How many lives are right under each dialect."""
        right: Counter[Dialect] = Counter(dict.fromkeys(possible, 0))
        for script in islice(engine_scope.arriving((1, 2), engine_scope.KINDS, self.dialect), 0, None, PROBES):
            if self.hopeless:
                break
            history = drive(self.study.subject.make(), script)
            right.update(d for d in possible if _right(self, engine_catalogue.judge(history, d)))
        return right


class FairCourse(_Course):
    """`Engine(..., quantum=q)`."""

    catalogue = fair_catalogue.FAIR

    def __init__(self, held: IsolatedImplementation, dialect: Dialect) -> None:
        super().__init__(held, dialect)
        self.study = FairStudy(RemoteSubject(held, dialect))

    def plan(self, effort: Effort, seed: int) -> list[Part]:
        legs = FAIR_LEGS if effort in DETAILED else FAIR_LEGS[:1]
        every = {"quick": 4}.get(effort, 1)
        return [_sample(leg, every, seed, self.study) for leg in legs]

    def example(self, label: str) -> ProfileExample:
        found = self.study.findings[label]
        text, place = fair_report.block(found, self.study.dialect), f"in step {max(1, found.violation.call)}"
        return _example(found.violation, place, found.leg, text, script=script_data(found.script))

    def readings(self, possible: Sequence[Dialect]) -> Counter[Dialect]:
        """How many lives are right under each dialect."""
        right: Counter[Dialect] = Counter(dict.fromkeys(possible, 0))
        for script in islice(FAIR_LEGS[0].scripts(self.dialect), 0, None, PROBES):
            if self.hopeless:
                break
            history = drive(self.study.subject.make(script.quantum), script)
            right.update(d for d in possible if _right(self, fair_catalogue.judge(history, d, script.quantum)))
        return right


class CachedCourse(_Course):
    """`generate_cached(model, requests, num_slots, stop_token)`."""

    catalogue = cached_catalogue.CACHED

    def __init__(self, held: IsolatedImplementation, dialect: Dialect) -> None:
        super().__init__(held, dialect)
        self.study = CachedStudy(RemoteImplementation(held, dialect), shrinking=False)

    def plan(self, effort: Effort, seed: int) -> list[Part]:
        legs = CACHED_LEGS[:4] if effort == "quick" else CACHED_LEGS
        return [self._leg(leg, 1 if index < 4 else EVERY[effort], seed) for index, leg in enumerate(legs)]

    def _leg(self, leg: Any, every: int, seed: int) -> Part:
        def work() -> Iterator[None]:
            for session in one_of(every, leg.sessions(self.study.dialect), seed):
                self.study.consider(session, leg.name)
                yield

        return Part(leg.name, _bound(leg.bound, every), work, leg.naming)

    def example(self, label: str) -> ProfileExample:
        found = self.study.findings[label]
        calls = len(found.judgement.attribution.run.calls)
        at = found.violation.call
        place = "at the end" if at >= calls else f"at forward {at + 1}"
        text, session = cached_report.block(found), session_data(found.session)
        shared = found.session.same_model
        return _example(found.violation, place, found.leg, text, session=session, same_model=shared)

    def readings(self, possible: Sequence[Dialect]) -> Counter[Dialect]:
        """How many runs are right under each dialect."""
        right: Counter[Dialect] = Counter(dict.fromkeys(possible, 0))
        for workload in probes():
            if self.hopeless:
                break
            (run,) = drive_cached(self.study.implementation.generate, CachedSession((workload,)))
            right.update(d for d in possible if _right(self, cached_catalogue.judge(run, d)))
        return right


COURSES: dict[ProfileName, Callable[[IsolatedImplementation, Dialect], Course]] = {
    "cached": CachedCourse,
    "engine": EngineCourse,
    "fair": FairCourse,
}


def _right(course: Course, judgement: Any) -> bool:
    """Whether no MUST is broken."""
    return not any(course.catalogue[name].level == "MUST" for name in judgement.violations)


def _sample(leg: Any, every: int, seed: int, study: Any) -> Part:
    """One of every so many lives of a leg."""

    def work() -> Iterator[None]:
        for script in one_of(every, leg.scripts(study.dialect), seed):
            study.consider(script, leg.name)
            yield

    return Part(leg.name, _bound(leg.bound, every), work)


def _bound(bound: str, every: int) -> str:
    return bound if every == 1 else f"one of every {every} of: {bound}"


def script_data(script: Script) -> ScriptData:
    """An engine's script as data."""
    requests = [(a.request_id, list(a.prompt), a.max_tokens, list(a.script)) for a in script.asks]
    moves = [(m.where, m.when, m.what, m.which, m.kind) for m in script.moves]
    quantum = getattr(script, "quantum", None)
    return ScriptData(
        requests,
        moves,
        script.num_slots,
        script.stop_token,
        script.otherwise,
        script.tampers,
        quantum,
    )


def _example(violation: Any, place: str, leg: str, text: str, **data: Any) -> ProfileExample:
    return ProfileExample(place, _cut(violation.expected), _cut(violation.observed), leg, text, **data)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
