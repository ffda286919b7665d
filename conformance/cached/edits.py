"""Every single edit of a cached history: an operation, a row, a slot, a token, a reply or a result entry altered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from conformance.cached.history import CachedRun, Forward, Op, Reset
from conformance.history import Raised, Returned, Unended
from conformance.workloads import Tokens

T = TypeVar("T")
ODD = 999_999  # a token that nobody generates


def edits(run: CachedRun) -> Iterator[CachedRun]:
    """Yield `run`, and `run` with one edit, in every place. The lines follow from the operations, edited or not."""
    yield run
    slots = range(-1, run.workload.num_slots + 1)
    for ops in _lists(run.ops):
        yield replace(run, ops=ops)
    for place in range(len(run.ops) + 1):
        for slot in slots:
            yield replace(run, ops=(*run.ops[:place], Reset(slot), *run.ops[place:]))
    for slot in slots[1:-1]:
        yield replace(run, before=((slot, (ODD,)),))
    for place, op in enumerate(run.ops):
        for others in _altered(op, slots, run.workload.stop_token):
            yield replace(run, ops=(*run.ops[:place], *others, *run.ops[place + 1 :]))
    assert isinstance(run.outcome, Returned)
    for pairs in _pairs(run.outcome.pairs):
        yield replace(run, outcome=Returned(pairs))
    for outcome in (Returned((), "a list"), Raised("IndexError"), Unended("too long")):
        yield replace(run, outcome=outcome)


def _lists(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """Drop each item, double it, swap it with the next one."""
    for i, item in enumerate(items):
        yield (*items[:i], *items[i + 1 :])
        yield (*items[: i + 1], item, *items[i + 1 :])
        if i + 1 < len(items):
            yield (*items[:i], items[i + 1], item, *items[i + 2 :])


def _altered(op: Op, slots: range, stop: int) -> Iterator[tuple[Op, ...]]:
    """Yield what may stand in the place of an operation: another one, or a forward cut in two."""
    if isinstance(op, Reset):
        yield from [(Reset(slot),) for slot in slots if slot != op.slot]
        yield (Reset(op.slot, "a slot of type str"),)
        return
    assert op.replies is not None
    yield (Forward((), ()),)
    yield (Forward((), None, "a batch of type tuple"),)
    for kept in _lists(list(zip(op.rows, op.replies, strict=True))):
        yield (Forward(tuple(row for row, _ in kept), tuple(reply for _, reply in kept)),)
    for i, (slot, new) in enumerate(op.rows):
        for row in [(other, new) for other in slots if other != slot] + [(slot, other) for other in _news(new, stop)]:
            yield (op._replace(rows=(*op.rows[:i], row, *op.rows[i + 1 :])),)
        for token in (stop, ODD):
            yield (op._replace(replies=(*op.replies[:i], token, *op.replies[i + 1 :])),)
    yield from _cut(op)
    for slot in slots:
        for new in ((), (ODD,), (stop,)):
            yield (Forward((*op.rows, (slot, new)), (*op.replies, ODD)),)


def _news(new: Tokens, stop: int) -> Iterator[Tokens]:
    grown = ((*new, ODD), (*new, stop), (ODD, *new), new + new)
    cut = (new[:-1], new[1:], (), (*new[:-1], ODD), new[::-1])
    yield from [other for other in dict.fromkeys(grown + cut) if other != new]


def _cut(op: Forward) -> Iterator[tuple[Op, ...]]:
    """Write the row of a lone request in two pieces, or write two rows one after the other."""
    assert op.replies is not None
    if len(op.rows) == 1:
        (slot, new), *_ = op.rows
        for size in range(1, len(new)):
            yield (Forward(((slot, new[:size]),), (ODD,)), Forward(((slot, new[size:]),), op.replies))
    for i in range(1, len(op.rows)):
        yield (Forward(op.rows[:i], op.replies[:i]), Forward(op.rows[i:], op.replies[i:]))


def _pairs(pairs: tuple[tuple[str, Tokens], ...]) -> Iterator[tuple[tuple[str, Tokens], ...]]:
    yield from _lists(pairs)
    yield (*pairs, ("nobody", ()))
    for i, (key, tokens) in enumerate(pairs):
        for altered in (tokens[:-1], (*tokens, ODD), (*tokens[:-1], ODD), tokens[::-1], tokens[1:]):
            yield (*pairs[:i], (key, altered), *pairs[i + 1 :])
        if i + 1 < len(pairs):
            other = pairs[i + 1]
            yield (*pairs[:i], (key, other[1]), (other[0], tokens), *pairs[i + 2 :])
