"""The transition system of an engine with a quantum: that of `reference/engine_transitions.py`, with turns.

Only the beginning of a step is another action. This file shares nothing with `ledger`, and is the second
opinion on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from conformance.engine.accept import after_event
from conformance.engine.events import Begin, Event, History, Return
from reference import engine_transitions as system
from reference.engine_transitions import EngineRules, EngineState
from reference.vocabulary import Dialect


@dataclass(frozen=True)
class FairState:
    """`had` pairs each request that runs with the tokens that it had when it entered; `engine.running` is in the
    order of entry. `settled`: who runs was decided, and no step has returned since.
    """

    engine: EngineState = EngineState()
    had: tuple[tuple[int, int], ...] = ()
    settled: bool = False


def begin(rules: EngineRules, quantum: int, state: FairState) -> FairState:
    """Begin a step: free slots are filled, then those yield who have had their quantum, as many as still wait."""
    engine = system.begin(rules, state.engine)
    had = dict(state.had)
    for number in engine.running:
        had.setdefault(number, len(engine.generated[number]))
    due = [number for number in engine.running if len(engine.generated[number]) - had[number] >= quantum]
    turns = 0 if state.settled else min(len(due), len(engine.waiting))
    leave, enter = due[:turns], engine.waiting[:turns]
    had |= {number: len(engine.generated[number]) for number in enter}
    running = (*(number for number in engine.running if number not in leave), *enter)
    after = replace(engine, running=running, waiting=(*engine.waiting[turns:], *leave))
    return FairState(after, tuple((number, had[number]) for number in running), True)


def accepts(history: History, dialect: Dialect, quantum: int) -> bool:
    """Whether some path of the transition system has these events, in this order; the beginning of one is enough."""
    excluded, padded = dialect.stop_token == "excluded", dialect.batch == "padded"
    rules = EngineRules(history.num_slots, history.stop_token, excluded, padded)
    states = [FairState()]
    for event in history.events:
        states = [after for state in states for after in _after(rules, dialect, quantum, state, event)]
        if not states:
            return False
    return True


def _after(rules: EngineRules, dialect: Dialect, quantum: int, state: FairState, event: Event) -> Iterator[FairState]:
    if isinstance(event, Begin):
        yield begin(rules, quantum, state)
        return
    for engine in after_event(rules, dialect, state.engine, event):
        if engine is not None:
            had = tuple((number, had) for number, had in state.had if number in engine.running)
            yield FairState(engine, had, state.settled and not isinstance(event, Return))
