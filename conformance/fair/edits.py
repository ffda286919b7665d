"""Every single edit of a history that some engine could have: something dropped, doubled, swapped or altered in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from conformance.engine.events import Call, Event, History, Output, Reply, Return, Unfinished, malformed
from conformance.workloads import Tokens

T = TypeVar("T")
ODD = 999_999  # a token that nobody generates


def edits(history: History) -> Iterator[History]:
    """Yield the history with one edit, in every place; what no recorder can have seen is left out."""
    events = history.events
    prefixes = sorted({row for event in events if isinstance(event, Call) for row in event.rows})
    for changed in _lists(events):
        yield from _possible(history, changed)
    for index, event in enumerate(events):
        for other in _altered(event, prefixes, history.stop_token):
            yield from _possible(history, (*events[:index], other, *events[index + 1 :]))


def _possible(history: History, events: tuple[Event, ...]) -> Iterator[History]:
    if not malformed(events):
        yield history.with_events(events)


def _lists(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """Drop each item, double it, swap it with the next one."""
    for i, item in enumerate(items):
        yield (*items[:i], *items[i + 1 :])
        yield (*items[: i + 1], item, *items[i + 1 :])
        if i + 1 < len(items):
            yield (*items[:i], items[i + 1], item, *items[i + 2 :])


def _altered(event: Event, prefixes: Sequence[Tokens], stop: int) -> Iterator[Event]:
    if isinstance(event, Call):
        for rows in _rows(event.rows, prefixes):
            yield replace(event, rows=rows)
    elif isinstance(event, Reply) and event.tokens:
        for i in range(len(event.tokens)):
            for token in (stop, ODD):
                yield Reply((*event.tokens[:i], token, *event.tokens[i + 1 :]))
    elif isinstance(event, Return):
        for outputs in _outputs(event.outputs):
            yield Return(outputs)
    elif isinstance(event, Unfinished):
        yield Unfinished(not event.value)


def _rows(rows: tuple[Tokens, ...], prefixes: Sequence[Tokens]) -> Iterator[tuple[Tokens, ...]]:
    """Rows dropped, doubled, swapped, made longer or shorter, or given to whatever else is ever asked for."""
    yield from _lists(rows)
    for i, row in enumerate(rows):
        for other in (row[:-1], (*row, ODD), *prefixes):
            yield (*rows[:i], other, *rows[i + 1 :])


def _outputs(outputs: tuple[Output, ...]) -> Iterator[tuple[Output, ...]]:
    yield from _lists(outputs)
    for i, output in enumerate(outputs):
        for token in {None, ODD, output.token}:
            for reason in (None, "stop", "length", "abort"):
                yield (*outputs[:i], Output(output.request_id, token, reason), *outputs[i + 1 :])
