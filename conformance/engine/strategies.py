"""Random scripts, wider than the small scope: more requests, longer ones, several aborts and failures, odd tokens."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from conformance.engine.script import Move, Script
from conformance.workloads import ORDINARY, Ask
from reference.vocabulary import Dialect

STOPS = (0, -1, 2, 50_256, 2**31 + 11)
TOKENS = (0, -5, 300, 2**31, 2**40)
LONGEST = 9


@st.composite
def asks(draw: st.DrawFn, place: int, stop: int, dialect: Dialect) -> Ask:
    """A request with an alphabet of its own, under an id that others may have too. At most one prompt is empty."""
    base = 1000 * (place + 1)
    size = draw(st.integers(0 if place == 0 else 1, 3))
    prompt = (base, stop, base + 1)[:size]
    counted = size if dialect.max_tokens == "total" else 0
    stops = draw(st.none() | st.integers(0, LONGEST))
    odd = draw(st.none() | st.tuples(st.integers(1, LONGEST), st.sampled_from(TOKENS)))
    replies = [stop if k == stops else base + 10 + k for k in range(LONGEST + 2)]
    if odd is not None and odd[0] != stops:
        # Not the first one, so that prefixes stay apart.
        replies[odd[0]] = odd[1]
    name = f"r{place if draw(st.integers(0, 3)) else 0}"
    return Ask(name, prompt, draw(st.integers(0, LONGEST)) + counted, tuple(replies))


@st.composite
def scripts(draw: st.DrawFn, dialect: Dialect) -> Script:
    """Up to 8 requests, 4 slots, 4 aborts and 3 failing calls, at any moment of the first 12 steps and calls."""
    stop, size = draw(st.sampled_from(STOPS)), draw(st.integers(1, 8))
    requests = [draw(asks(place, stop, dialect)) for place in range(size)]
    moves = [draw(_moves("add", place)) for place in range(size)]
    for _ in range(draw(st.integers(0, 4))):
        moves.append(draw(_moves("abort", draw(st.integers(0, size - 1)))))
    for call in sorted(draw(st.sets(st.integers(0, 12), max_size=3))):
        moves.append(Move("call", call, "fail", 0, draw(st.sampled_from(sorted(ORDINARY)))))
    moves.sort(key=lambda move: (move.when, move.where == "call"))
    return Script(
        tuple(requests), tuple(moves), draw(st.integers(1, 4)), stop, otherwise=draw(st.sampled_from([stop, 777]))
    )


def _moves(what: Any, which: int) -> st.SearchStrategy[Move]:
    return st.builds(Move, st.sampled_from(["step", "call"]), st.integers(0, 12), st.just(what), st.just(which))
