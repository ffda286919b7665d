"""Every single edit of a history: something dropped, doubled, swapped or altered in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from conformance.history import Call, Raised, Returned, Run, Unended
from conformance.workloads import Tokens

T = TypeVar("T")
ODD = 999_999  # a token that nobody generates


def edits(run: Run) -> Iterator[Run]:
    """Yield `run` with one edit, in every place: calls, rows, tokens, result entries, the way it ends."""
    yield run
    for calls in _lists(run.calls):
        yield replace(run, calls=calls)
    yield replace(run, calls=(*run.calls, Call((), ())))
    for index, call in enumerate(run.calls):
        for other in _calls(call, run.workload.stop_token):
            yield replace(run, calls=(*run.calls[:index], other, *run.calls[index + 1 :]))
    assert isinstance(run.outcome, Returned)
    for pairs in _pairs(run.outcome.pairs):
        yield replace(run, outcome=Returned(pairs))
    yield replace(run, outcome=Returned((), "a list"))
    yield replace(run, outcome=Raised("IndexError"))
    yield replace(run, outcome=Unended("too long"))


def _lists(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """Drop each item, double it, swap it with the next one."""
    for i, item in enumerate(items):
        yield (*items[:i], *items[i + 1 :])
        yield (*items[: i + 1], item, *items[i + 1 :])
        if i + 1 < len(items):
            yield (*items[:i], items[i + 1], item, *items[i + 2 :])


def _calls(call: Call, stop: int) -> Iterator[Call]:
    assert call.replies is not None
    yield Call((), ())
    yield Call((), (), "a batch of type tuple")
    paired = list(zip(call.rows, call.replies, strict=True))
    for pairs in _lists(paired):
        yield Call(tuple(row for row, _ in pairs), tuple(reply for _, reply in pairs))
    for i, row in enumerate(call.rows):
        for altered in (row[:-1], (*row, ODD), (*row[:-1], ODD), (*row, stop), (ODD, *row)):
            yield Call((*call.rows[:i], altered, *call.rows[i + 1 :]), call.replies)
        if i + 1 < len(call.rows):
            rows = (*call.rows[:i], call.rows[i + 1], row, *call.rows[i + 2 :])
            yield Call(rows, call.replies)
        for token in (stop, ODD):
            yield Call(call.rows, (*call.replies[:i], token, *call.replies[i + 1 :]))


def _pairs(pairs: tuple[tuple[str, Tokens], ...]) -> Iterator[tuple[tuple[str, Tokens], ...]]:
    yield from _lists(pairs)
    yield (*pairs, ("nobody", ()))
    for i, (key, tokens) in enumerate(pairs):
        for altered in (tokens[:-1], (*tokens, ODD), (*tokens[:-1], ODD), tokens[::-1], tokens[1:]):
            yield (*pairs[:i], (key, altered), *pairs[i + 1 :])
        if i + 1 < len(pairs):
            other = pairs[i + 1]
            yield (*pairs[:i], (key, other[1]), (other[0], tokens), *pairs[i + 2 :])
