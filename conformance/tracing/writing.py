"""Write what the project's own drivers recorded, a run or an engine's life, as the lines of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from conformance.engine import events as e
from conformance.history import Call, Raised, Returned, Run, Unended
from conformance.tracing import messages as m
from reference.vocabulary import AXES, Dialect

ENCODER = msgspec.json.Encoder()


def encoded(messages: Iterable[m.Line]) -> Iterator[bytes]:
    """One line each, numbered."""
    for number, message in enumerate(messages):
        message.seq = number
        yield ENCODER.encode(message) + b"\n"


def of_run(run: Run, dialect: Dialect) -> Iterator[m.Line]:
    """The trace of one run of `generate`."""
    workload = run.workload
    yield header(workload.num_slots, workload.stop_token, dialect, "generate")
    for ask in workload.asks:
        yield m.Submit(id=ask.request_id, prompt=list(ask.prompt), max_tokens=ask.max_tokens)
    yield from map(_call, run.calls)
    match run.outcome:
        case Returned(pairs, malformed):
            for name, tokens in pairs:
                yield m.Result(id=name, tokens=list(tokens))
            yield m.Return(malformed=malformed)
        case Raised(kind, message, surfaced):
            yield m.Raise(kind=kind, message=message, surfaced=surfaced)
        case Unended(why):
            yield m.Stopped(why=why)
        case _:
            return


def header(num_slots: int, stop_token: int, dialect: Dialect, profile: m.Profile) -> m.Header:
    chosen = {axis: getattr(dialect, axis) for axis, values in AXES.items() if getattr(dialect, axis) != values[0]}
    return m.Header(version=m.VERSION, num_slots=num_slots, stop_token=stop_token, profile=profile, dialect=chosen)


def _call(call: Call) -> m.Call:
    rows = [list(row) for row in call.rows]
    if call.replies is None:
        return m.Call(rows=rows, error="an exception", malformed=call.malformed)
    return m.Call(rows=rows, tokens=list(call.replies), malformed=call.malformed)


def of_history(history: e.History, dialect: Dialect) -> Iterator[m.Line]:
    """The trace of an engine's life, closed if nothing is open in it."""
    yield header(history.num_slots, history.stop_token, dialect, "engine")
    stepping = False
    for event in history.events:
        stepping = isinstance(event, e.Begin) or (stepping and not isinstance(event, e.Return | e.Raise))
        for message in _event(event):
            if isinstance(message, m.Call):
                message.outside = not stepping
            yield message
    if not (history.events and isinstance(history.events[-1], e.Stopped)):
        yield m.Close()


def _event(event: e.Event) -> Iterator[m.Message]:
    match event:
        case e.Submit(name, prompt, max_tokens, error):
            yield m.Submit(id=name, prompt=list(prompt), max_tokens=max_tokens, error=error)
        case e.Abort(name, error):
            yield m.Abort(id=name, error=error)
        case e.Call(rows, malformed):
            yield m.Call(rows=[list(row) for row in rows], malformed=malformed)
        case e.Reply(None):
            yield m.Reply(error="an exception")
        case e.Reply(tokens):
            yield m.Reply(tokens=list(tokens or ()))
        case e.Return(outputs, malformed):
            yield m.Emit(outputs=[(o.request_id, o.token, o.finish_reason) for o in outputs], malformed=malformed)
        case e.Raise(kind, message, surfaced):
            yield m.Raise(kind=kind, message=message, surfaced=surfaced)
        case e.Unfinished(value):
            yield m.Unfinished(value=value)
        case e.Stopped(why):
            yield m.Stopped(why=why)
        case e.Begin() | e.Build():
            return
