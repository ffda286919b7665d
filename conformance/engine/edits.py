"""Every single edit of an engine's history: something dropped, doubled, swapped or altered in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from conformance.engine.events import (
    Abort,
    Call,
    Event,
    History,
    Output,
    Raise,
    Reply,
    Return,
    Stopped,
    Submit,
    Unfinished,
    malformed,
)

Item = TypeVar("Item")
ODD = 999_999  # a token that nobody generates


def edits(history: History) -> Iterator[History]:
    """Yield `history`, and it with one edit in every place; only what a recorder could have written."""
    yield history
    for events in _edited(history):
        if not malformed(events):
            yield history.with_events(events)


def _edited(history: History) -> Iterator[tuple[Event, ...]]:
    events = history.events
    names = sorted({event.request_id for event in events if isinstance(event, Submit)})
    yield from _lists(events)
    for index, event in enumerate(events):
        for other in _altered(event, names, history.stop_token):
            yield (*events[:index], other, *events[index + 1 :])
        for name in names:
            yield (*events[:index], Abort(name), *events[index:])
        yield (*events[:index], Submit("new", (ODD,), 1), *events[index:])
        yield (*events[:index], Stopped("no end"))


def _lists(items: Sequence[Item]) -> Iterator[tuple[Item, ...]]:
    """Drop each item, double it, swap it with the next one."""
    for i, item in enumerate(items):
        yield (*items[:i], *items[i + 1 :])
        yield (*items[: i + 1], item, *items[i + 1 :])
        if i + 1 < len(items):
            yield (*items[:i], items[i + 1], item, *items[i + 2 :])


def _altered(event: Event, names: Sequence[str], stop: int) -> Iterator[Event]:
    if isinstance(event, Submit):
        yield from (replace(event, error=error) for error in ("", "ValueError", "KeyError"))
        yield from (replace(event, request_id=name) for name in names)
        yield from (replace(event, max_tokens=limit) for limit in (-1, 0, event.max_tokens + 1))
    elif isinstance(event, Abort):
        yield replace(event, error="KeyError")
        yield from (Abort(name) for name in (*names, "nobody"))
    elif isinstance(event, Call):
        yield Call((), "a batch of type tuple")
        yield from map(Call, _rows(event.rows, stop))
    elif isinstance(event, Reply):
        yield from map(Reply, _replies(event, stop))
    elif isinstance(event, Return):
        yield Return((), "a tuple")
        yield Raise("IndexError")
        yield from map(Return, _outputs(event.outputs, names, stop))
    elif isinstance(event, Raise):
        yield replace(event, surfaced=False)
        yield Return(())
    elif isinstance(event, Unfinished):
        yield Unfinished(not event.value)


def _rows(rows: tuple[tuple[int, ...], ...], stop: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    yield ()
    yield from _lists(rows)
    for i, row in enumerate(rows):
        for other in (row[:-1], row[1:], (*row, ODD), (*row, stop), (*row[:-1], ODD), (ODD, *row)):
            yield (*rows[:i], other, *rows[i + 1 :])


def _replies(event: Reply, stop: int) -> Iterator[tuple[int, ...] | None]:
    tokens = event.tokens
    yield None
    yield from _lists(tokens or ())
    for i in range(len(tokens or ())):
        for token in (stop, ODD):
            assert tokens is not None
            yield (*tokens[:i], token, *tokens[i + 1 :])


def _outputs(outputs: tuple[Output, ...], names: Sequence[str], stop: int) -> Iterator[tuple[Output, ...]]:
    yield ()
    yield from _lists(outputs)
    for name in (*names, "nobody"):
        for more in ((ODD, None), (None, None), (None, "abort"), (None, "length"), (ODD, "stop")):
            yield (*outputs, Output(name, *more))
            yield (Output(name, *more), *outputs)
    for i, output in enumerate(outputs):
        altered = [output._replace(token=token) for token in (None, ODD, stop)]
        altered += [output._replace(finish_reason=reason) for reason in (None, "stop", "length", "abort", "odd")]
        altered += [output._replace(request_id=name) for name in (*names, "nobody")]
        for other in altered:
            yield (*outputs[:i], other, *outputs[i + 1 :])
