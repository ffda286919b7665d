"""Smaller scripts of real engines: many moves at a time first, then whole prompts, then the steps of the profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter

from conformance.engine.script import Script, shrunk
from conformance.workloads import Disagreement

Shows = Callable[[Script], bool]


def smallest(script: Script, shows: Shows, seconds: float) -> Script:
    """Return the smallest script that was reached in this time for which `shows` holds."""
    until = perf_counter() + seconds

    def still(other: Script) -> bool:
        try:
            other.model  # noqa: B018
        except Disagreement:
            return False
        return perf_counter() < until and shows(other)

    for candidates in (thinner, earlier, shorter):
        script = _least(script, candidates, still)
    return shrunk(script, still)


def _least(script: Script, candidates: Callable[[Script], Iterator[Script]], still: Shows) -> Script:
    while True:
        found = next((other for other in candidates(script) if still(other)), None)
        if found is None:
            return script
        script = found


def thinner(script: Script) -> Iterator[Script]:
    """Yield the script without a block of its moves, large blocks first."""
    size = len(script.moves) // 2
    while size:
        for start in range(0, len(script.moves), size):
            yield replace(script, moves=(*script.moves[:start], *script.moves[start + size :]))
        size //= 2


def earlier(script: Script) -> Iterator[Script]:
    """Yield the script with all moves from some moment on brought forward."""
    for moment in sorted({move.when for move in script.moves if move.when}):
        moves = tuple(m._replace(when=m.when - 1) if m.when >= moment else m for m in script.moves)
        yield replace(script, moves=moves)


def shorter(script: Script) -> Iterator[Script]:
    """Yield the script with one request's prompt or replies cut."""
    for index, ask in enumerate(script.asks):
        for size in (1, 2, len(ask.prompt) // 2):
            if 0 < size < len(ask.prompt):
                yield _with(script, index, prompt=ask.prompt[:size])
        needed = max(1, ask.max_tokens)
        if len(ask.script) > needed:
            yield _with(script, index, script=ask.script[:needed])
        if ask.max_tokens > 1:
            yield _with(script, index, max_tokens=ask.max_tokens // 2)


def _with(whole: Script, index: int, **change: object) -> Script:
    ask = whole.asks[index]._replace(**change)  # type: ignore[arg-type]
    return replace(whole, asks=(*whole.asks[:index], ask, *whole.asks[index + 1 :]))
