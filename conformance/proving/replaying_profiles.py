"""The bridge for the profiles: recorded runs of cached implementations and lives of engines, replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from random import Random
from types import ModuleType

from conformance.cached import driving
from conformance.cached.history import CachedRun, Forward, Reset
from conformance.cached.system import accepted
from conformance.engine import scope as lives
from conformance.engine.accept import accepts
from conformance.engine.drive import drive, maker
from conformance.engine.events import Abort, Call, Event, History, Return
from conformance.engine.script import Script
from conformance.fair import scope as shared_lives
from conformance.fair import system as fair_system
from conformance.fair.script import FairScript
from conformance.fair.targets import Subject
from conformance.legs import scope
from conformance.proving.replaying import LARGE, SEED, Replayed, large_workload
from conformance.targets import LocalImplementation, declared
from conformance.workloads import Workload
from reference.vocabulary import Dialect

# -- Cached ------------------------------------------------------------------------------------------


def cached_workloads(dialect: Dialect, every: int) -> Iterator[Workload]:
    """The core's small scope, each `every`th of its cases, and large random workloads."""
    draw = Random(SEED)
    parts = chain(scope.up_to(2, dialect), scope.shared(dialect), scope.three(dialect), scope.four(dialect))
    yield from (workload for number, workload in enumerate(parts) if number % every == 0)
    # In few slots: the system tries every slot for a newcomer.
    yield from (large_workload(draw, dialect, most_slots=3) for _ in range(LARGE))


def replayed_cached(implementation: LocalImplementation, *, every: int) -> Replayed:
    """Run and replay, up to the first run that the system with cache lines does not explain."""
    runs, calls = 0, 0
    for workload in cached_workloads(implementation.dialect, every):
        run = driving.drive(implementation.generate, workload)
        runs, calls = runs + 1, calls + len(run.forwards)
        if not accepted(run, implementation.dialect):
            return Replayed(runs, calls, run)
    return Replayed(runs, calls)


def _without_resets(run: CachedRun) -> CachedRun:
    return replace(run, ops=tuple(op for op in run.ops if not isinstance(op, Reset)))


def _without_a_forward(run: CachedRun) -> CachedRun:
    return replace(run, ops=tuple(op for op in run.ops if op is not run.forwards[0]))


def _written_twice(run: CachedRun) -> CachedRun:
    last = run.forwards[-1]
    (slot, new), *rest = last.rows
    twice = last._replace(rows=((slot, (*new, *new)), *rest))
    return replace(run, ops=tuple(twice if op is last else op for op in run.ops))


def _in_another_slot(run: CachedRun) -> CachedRun:
    def moved(op: Forward) -> Forward:
        return op._replace(rows=tuple((1 - slot, new) for slot, new in op.rows))

    last = run.forwards[-1]
    return replace(run, ops=tuple(moved(last) if op is last else op for op in run.ops))


CACHED_CHANGES: dict[str, Callable[[CachedRun], CachedRun]] = {
    "no line is emptied": _without_resets,
    "a forward is left out": _without_a_forward,
    "a token is written twice": _written_twice,
    "a row goes to another slot": _in_another_slot,
}


def refused_cached(implementation: LocalImplementation) -> list[str]:
    """Name the changes that make a run of three requests in two slots unacceptable; all should."""
    workload = scope.built(((2, None), (3, None), (3, None)), 2, scope.PLAIN, 0, implementation.dialect)
    run = driving.drive(implementation.generate, workload)
    if not accepted(run, implementation.dialect):
        return []
    return [name for name, change in CACHED_CHANGES.items() if not accepted(change(run), implementation.dialect)]


# -- Engines -----------------------------------------------------------------------------------------


def scripts(dialect: Dialect, every: int) -> Iterator[Script]:
    """The engines' small scope: arrivals, aborts, failures of the model, ids used again; each `every`th."""
    parts = (lives.arrivals, lives.duplicates, lives.aborts, lives.aborts_of_three, lives.failures, lives.odd)
    everything = chain.from_iterable(part(dialect) for part in parts)
    return (script for number, script in enumerate(everything) if number % every == 0)


def replayed_engine(module: ModuleType, *, every: int) -> Replayed:
    """Play and replay, up to the first life that the engines' transition system does not explain."""
    dialect = declared(module, module.__name__)
    make, runs, calls = maker(module, dialect), 0, 0
    for script in scripts(dialect, every):
        history = drive(make, script)
        runs, calls = runs + 1, calls + sum(isinstance(event, Call) for event in history.events)
        if not accepts(history, dialect):
            return Replayed(runs, calls, history)
    return Replayed(runs, calls)


def _changed(events: Iterable[Event], kind: type[Event], change: Callable[[Event], list[Event]]) -> list[Event]:
    """Change the first event of a kind that a change alters."""
    out, done = list[Event](), False
    for event in events:
        new = change(event) if isinstance(event, kind) and not done else [event]
        done, out = done or new != [event], [*out, *new]
    return out


def _less(event: Event) -> list[Event]:
    assert isinstance(event, Return)
    return [replace(event, outputs=event.outputs[1:])]


def _again(event: Event) -> list[Event]:
    assert isinstance(event, Return)
    return [replace(event, outputs=(*event.outputs[:1], *event.outputs))]


def _fewer_rows(event: Event) -> list[Event]:
    assert isinstance(event, Call)
    return [replace(event, rows=event.rows[1:])]


EngineChange = tuple[type[Event], Callable[[Event], list[Event]]]
ENGINE_CHANGES: dict[str, EngineChange] = {
    "an output is left out": (Return, _less),
    "an output is given twice": (Return, _again),
    "a row is left out": (Call, _fewer_rows),
    "an abort did not happen": (Abort, lambda event: []),
}


def refused_engine(module: ModuleType) -> list[str]:
    """Name the changes that make a life with an abort in it unacceptable; all should."""
    dialect = declared(module, module.__name__)
    script = Script.of(
        [("a", [11], 3 + _counted(dialect), [12, 13, 14]), ("b", [21], 3 + _counted(dialect), [22, 23, 24])],
        [("step", 0, "add", 0), ("step", 0, "add", 1), ("step", 1, "abort", 0)],
        num_slots=2,
        stop_token=2,
    )
    history = drive(maker(module, dialect), script)
    if not accepts(history, dialect):
        return []
    return [name for name, change in ENGINE_CHANGES.items() if not accepts(_life(history, change), dialect)]


def _life(history: History, change: EngineChange) -> History:
    return history.with_events(_changed(history.events, *change))


def _counted(dialect: Dialect) -> int:
    return 1 if dialect.max_tokens == "total" else 0


# -- Engines with a quantum --------------------------------------------------------------------------


def fair_scripts(dialect: Dialect, every: int) -> Iterator[FairScript]:
    """The small scope of engines with a quantum: arrivals, crowds, aborts, failures; each `every`th."""
    parts = (shared_lives.arrivals, shared_lives.crowds, shared_lives.aborts, shared_lives.failures, shared_lives.odd)
    everything = chain.from_iterable(part(dialect) for part in parts)
    return (script for number, script in enumerate(everything) if number % every == 0)


def replayed_fair(subject: Subject, *, every: int) -> Replayed:
    """Play and replay, up to the first life that the transition system with turns does not explain."""
    runs, calls = 0, 0
    for script in fair_scripts(subject.dialect, every):
        history = drive(subject.make(script.quantum), script)
        runs, calls = runs + 1, calls + sum(isinstance(event, Call) for event in history.events)
        if not fair_system.accepts(history, subject.dialect, script.quantum):
            return Replayed(runs, calls, history)
    return Replayed(runs, calls)


def _two_in_one_slot(dialect: Dialect) -> Script:
    more = _counted(dialect)
    return Script.of(
        [("a", [11], 3 + more, [12, 13, 14]), ("b", [21], 3 + more, [22, 23, 24])],
        [("step", 0, "add", 0), ("step", 0, "add", 1)],
        num_slots=1,
        stop_token=2,
    )


FAIR_CHANGES = ("the quantum is another", "an output is left out")


def refused_fair(subject: Subject) -> list[str]:
    """Name the changes that make a life with turns in it unacceptable; all should."""
    history = drive(subject.make(1), _two_in_one_slot(subject.dialect))
    if not fair_system.accepts(history, subject.dialect, 1):
        return []
    less = _life(history, (Return, _less))
    judged = (fair_system.accepts(history, subject.dialect, 2), fair_system.accepts(less, subject.dialect, 1))
    return [name for name, explained in zip(FAIR_CHANGES, judged, strict=True) if not explained]
