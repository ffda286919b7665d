"""Slots over calls: who held which slot when, derived from the recorded calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple


class Row(NamedTuple):
    """One row of a call: its request (None for a pad row), and the length of the prefix sent."""

    request: int | None
    prefix: int


class Stay(NamedTuple):
    """A request's time in a slot: calls `start` to `end`, the latter not included, counted from 0."""

    request: int
    start: int
    end: int


class Gap(NamedTuple):
    """An idle stretch of a slot. `waiting` tells whether a request waits meanwhile."""

    start: int
    end: int
    waiting: bool


Lane = tuple[Stay, ...]
"""The stays in one slot, in order."""


def stays(calls: Iterable[Sequence[Row]]) -> dict[int, list[int]]:
    """Map each request to its first call and the one after its last."""
    spans: dict[int, list[int]] = {}
    for number, call in enumerate(calls):
        for row in call:
            if row.request is not None:
                spans.setdefault(row.request, [number, number])[1] = number + 1
    return spans


def slot_lanes(calls: Sequence[Sequence[Row]], num_slots: int) -> tuple[Lane, ...]:
    """Give every request one slot for its whole stay: the lowest that is free when its first row comes.

    A compact call does not say which slot a row is of, and the choice is free; this one is what a
    fixed array of slots does.
    """
    lanes: list[list[Stay]] = [[] for _ in range(num_slots)]
    free, busy = list(range(num_slots)), list[tuple[int, int]]()
    for request, (start, end) in stays(calls).items():
        while busy and busy[0][0] <= start:
            heappush(free, heappop(busy)[1])
        slot = heappop(free)
        heappush(busy, (end, slot))
        lanes[slot].append(Stay(request, start, end))
    return tuple(tuple(lane) for lane in lanes)


def last_admission(calls: Sequence[Sequence[Row]]) -> int:
    """The number of calls before the one that has the first row of the last request."""
    return max((start for start, _ in stays(calls).values()), default=0)


def gaps(lane: Lane, calls: int, waits_until: int) -> list[Gap]:
    """Find the idle stretches of a slot in a run of `calls` calls, split where the queue becomes empty."""
    found, free = [], 0
    for start, end in [*((stay.start, stay.end) for stay in lane), (calls, calls)]:
        for first, last, waiting in ((free, min(start, waits_until), True), (max(free, waits_until), start, False)):
            if first < last:
                found.append(Gap(first, last, waiting))
        free = end
    return found


def busy_share(lane: Lane, bins: Sequence[tuple[int, int]]) -> list[float]:
    """Tell for each stretch of calls (start, end) in which share of them the slot holds a request."""
    busy = [0] * (max((end for _, end in bins), default=0) + 1)
    for stay in lane:
        busy[stay.start : stay.end] = [1] * (stay.end - stay.start)
    return [sum(busy[start:end]) / (end - start) for start, end in bins]


def bins(calls: int, size: int) -> list[tuple[int, int]]:
    """Split `calls` calls into stretches of `size`, the last one perhaps shorter."""
    return [(start, min(start + size, calls)) for start in range(0, calls, size)]


def bin_size(calls: int, most: int) -> int:
    """The number of calls to draw as one, so that at most `most` are drawn."""
    return max(1, -(-calls // most))
