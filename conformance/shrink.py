"""Make a counterexample small: drop requests, tokens, slots, then numbers, as long as it stays one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from conformance.workloads import Ask, Disagreement, Workload

PLAIN_REPLY = Workload.otherwise
BUDGET = 20_000_000  # tokens in all rows of all tries; some seconds


def shrunk(workload: Workload, still_fails: Callable[[Workload], bool]) -> Workload:
    """Return the smallest workload that greedy steps reach for which `still_fails` holds."""
    spent, changed = 0, True
    while changed:
        changed = False
        for smaller in _smaller(workload):
            spent += _cost(smaller)
            if spent > BUDGET:
                return workload
            if still_fails(smaller):
                workload, changed = smaller, True
                break
    return workload


def _cost(workload: Workload) -> int:
    """About how many tokens the rows of a run have, and some for the run itself."""
    return 10_000 + sum(ask.max_tokens * (len(ask.prompt) + ask.max_tokens) for ask in workload.asks)


def _smaller(workload: Workload) -> Iterator[Workload]:
    for asks in _fewer(workload.asks):
        yield from _made(workload, asks=asks)
    if workload.fault is not None and workload.fault.call:
        yield from _made(workload, fault=workload.fault._replace(call=workload.fault.call - 1))
    for slots in sorted({1, 2, workload.num_slots // 2, workload.num_slots - 1}):
        if 1 <= slots < workload.num_slots:
            yield from _made(workload, num_slots=slots)
    for index, ask in enumerate(workload.asks):
        for less in _less(ask):
            yield from _made(workload, asks=(*workload.asks[:index], less, *workload.asks[index + 1 :]))
    if workload.otherwise != PLAIN_REPLY:
        yield from _made(workload, otherwise=PLAIN_REPLY)
    renamed = tuple(ask._replace(request_id=f"r{i}") for i, ask in enumerate(workload.asks))
    if renamed != workload.asks and all(re.fullmatch(r"r\d+", ask.request_id) for ask in workload.asks):
        yield from _made(workload, asks=renamed)
    if workload.sampled:
        yield from _made(workload, sampled=False)


def _fewer(asks: tuple[Ask, ...]) -> Iterator[tuple[Ask, ...]]:
    size = len(asks) // 2
    while size:
        for start in range(0, len(asks), size):
            yield asks[:start] + asks[start + size :]
        size //= 2


def _less(ask: Ask) -> Iterator[Ask]:
    """Yield the request with a smaller limit, a shorter script, a shorter prompt."""
    for limit in sorted({ask.max_tokens // 2, ask.max_tokens - 1}):
        if 0 < limit < ask.max_tokens:
            yield ask._replace(max_tokens=limit, script=ask.script[: max(1, limit)])
    for length in sorted({len(ask.script) // 2, len(ask.script) - 1}):
        if max(1, ask.max_tokens) <= length < len(ask.script):
            yield ask._replace(script=ask.script[-length:])
            yield ask._replace(script=ask.script[:length])
    for length in sorted({1, len(ask.prompt) // 2, len(ask.prompt) - 1}):
        if 0 < length < len(ask.prompt):
            yield ask._replace(prompt=ask.prompt[:length])


def _made(workload: Workload, **changes: object) -> Iterator[Workload]:
    try:
        yield replace(workload, **changes)  # type: ignore[arg-type]
    except Disagreement:
        return
