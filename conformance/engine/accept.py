"""Does the transition system explain a history? The second opinion, which shares nothing with `reading`."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.engine.events import (
    Abort,
    Begin,
    Build,
    Call,
    Event,
    History,
    Raise,
    Reply,
    Return,
    Submit,
    Unfinished,
)
from reference import engine_transitions as system
from reference.engine_transitions import EngineRules, EngineState
from reference.vocabulary import Dialect, Request


def accepts(history: History, dialect: Dialect) -> bool:
    """Whether some path of the transition system has these events, in this order; the beginning of one is enough."""
    rules = EngineRules(
        history.num_slots, history.stop_token, dialect.stop_token == "excluded", dialect.batch == "padded"
    )
    states = [EngineState()]
    for event in history.events:
        states = [after for state in states for after in after_event(rules, dialect, state, event) if after is not None]
        if not states:
            return False
    return True


def after_event(rules: EngineRules, dialect: Dialect, state: EngineState, event: Event) -> Iterable[EngineState | None]:
    """Take one event: the states after it, None for one that cannot be."""
    after: Iterable[EngineState | None] = []
    match event:
        case Submit():
            after = [_submitted(dialect, state, event)]
        case Abort(request_id, error=""):
            after = [system.abort(state, request_id)]
        case Begin():
            after = [system.begin(rules, state)]
        case Call(rows, malformed=""):
            after = [system.call(rules, state, rows)]
        case Reply(tokens) if tokens is not None and len(tokens) == len(state.rows):
            after = system.answer(state, tokens)
        case Reply(tokens):
            after = [system.fail(state) if tokens is None else system.misanswer(state)]
        case Return(outputs, malformed=""):
            after = [system.deliver(rules, state, outputs)]  # type: ignore[arg-type]
        case Raise(surfaced=surfaced) if surfaced or state.phase == "misanswered":
            after = [system.surface(state)]
        case Unfinished(value) if system.unfinished(state) == value:
            after = [state]
        case Build(error) if error == ("" if rules.num_slots > 0 else "ValueError"):
            after = [state]
    return after


def _submitted(dialect: Dialect, state: EngineState, event: Submit) -> EngineState | None:
    if event.max_tokens < 0:
        return state if event.error == "ValueError" else None
    limit = dialect.limit(Request(event.request_id, list(event.prompt), event.max_tokens))
    after = system.submit(state, event.request_id, event.prompt, limit)
    if after is None:
        return state if event.error == "ValueError" else None
    return None if event.error else after
