"""The small scope: every engine's life up to a bound, in a fixed order, simplest circumstances first.

A request is a kind, as in the core: a limit of 0 to 2 tokens, and where the stop token comes. Things
happen at *moments*: before a step, or inside a call. What is not enumerated takes turns: the stop token,
the length of prompts, the ids, the class of an exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, islice, product
from typing import Literal

from conformance.engine.script import Move, Script
from conformance.workloads import ORDINARY, Ask
from reference.vocabulary import Dialect

Kind = tuple[int, int | None]  # the limit, and which token is the stop token
Moment = tuple[Literal["step", "call"], int]

KINDS: tuple[Kind, ...] = tuple((limit, stop) for limit in range(3) for stop in (*range(1, limit + 1), None))
FEW: tuple[Kind, ...] = ((1, None), (2, None), (2, 2))
TWO: tuple[Kind, ...] = ((1, None), (2, 2))
THREE: tuple[Kind, ...] = ((0, None), *TWO)
AGAIN: tuple[Kind, ...] = ((1, None), (2, 2), (0, None), (2, None))  # what comes back under an old id, in turn
STOPS = (2, 0, -1, 50_256, 2**31 + 11)
IDS = (("r0", "r1", "r2"), ("r0", "r1", "r2"), ("", "0", "a b"))
START: Moment = ("step", 0)
MOMENTS: tuple[Moment, ...] = (START, ("call", 0), ("step", 1), ("call", 1), ("step", 2))
LATER: tuple[Moment, ...] = (*MOMENTS, ("step", 3))
ARRIVALS_OF_THREE: tuple[tuple[Moment, Moment], ...] = (
    (START, START),
    (START, ("call", 0)),
    (("step", 1), ("step", 1)),
    (("call", 0), ("step", 2)),
)
FAULTS = tuple(ORDINARY)


def ask(kind: Kind, place: int, identity: str, stop: int, number: int, dialect: Dialect) -> Ask:  # noqa: PLR0917
    """Make a request of a kind; `place` gives it an alphabet of its own."""
    limit, stops = kind
    base = 1000 * (place + 1)
    prompt = (base + 10, base + 11, stop)[: 1 + (number + place) % 3]
    counted = len(prompt) if dialect.max_tokens == "total" else 0
    # The replies go on behind the end, so that an engine that does not stop is answered like any other.
    tokens = tuple(stop if k + 1 == stops else base + 50 + k for k in range(4))
    return Ask(identity, prompt, limit + counted, tokens)


def built(kinds: Sequence[Kind], arrivals: Sequence[Moment], slots: int, number: int, dialect: Dialect) -> Script:
    """Make a script in which request i arrives at moment i; moves are in the order of the moments."""
    stop, ids = STOPS[number % len(STOPS)], IDS[number % len(IDS)]
    asks = tuple(ask(kind, i, ids[i], stop, number, dialect) for i, kind in enumerate(kinds))
    moves = tuple(Move(where, when, "add", i) for i, (where, when) in enumerate(arrivals))
    poison = (stop, 2**40, asks[0].script[0] if asks else 7)[number % 3]
    return Script(asks, moves, slots, stop, otherwise=poison)


def with_move(script: Script, move: Move, *, first: bool = False) -> Script:
    """Put a move where its moment is: after the others of that moment, or before them."""
    key = _order(move)
    before = [m for m in script.moves if _order(m) < key or (_order(m) == key and not first)]
    return replace(script, moves=(*before, move, *script.moves[len(before) :]))


def _order(move: Move) -> tuple[int, int]:
    return (move.when, int(move.where == "call"))


def first_look(dialect: Dialect) -> Iterator[Script]:
    """A little of everything: up to 2 requests of every kind, and the scopes below with two or three kinds only."""
    yield from arriving((1, 2), KINDS, dialect)
    yield from arriving((3,), TWO, dialect)
    yield from duplicates(dialect, TWO)
    yield from aborts(dialect, TWO)
    yield from failures(dialect, THREE, ())
    yield from odd(dialect, TWO)
    yield from islice(aborts_of_three(dialect), 0, None, 11)


def arrivals(dialect: Dialect) -> Iterator[Script]:
    """Up to 3 requests of every kind, 1 and 2 slots, the later ones arriving at every moment."""
    yield Script((), (), 1, 0)
    yield from arriving((1, 2, 3), KINDS, dialect)


def arriving(sizes: Sequence[int], every: Sequence[Kind], dialect: Dialect) -> Iterator[Script]:
    number = 0
    for size in sizes:
        for times in combinations_with_replacement(MOMENTS, size - 1):
            for kinds, slots in product(product(every, repeat=size), (1, 2)):
                number += 1
                yield built(kinds, (START, *times), slots, number, dialect)


def duplicates(dialect: Dialect, every: Sequence[Kind] = KINDS) -> Iterator[Script]:
    """Two requests of every kind, and a third one with the id of either, at every moment: live still, or over."""
    for number, (kinds, slots, time, where, which) in enumerate(
        product(product(every, repeat=2), (1, 2), MOMENTS[:3], LATER, (0, 1))
    ):
        script = built(kinds, (START, time), slots, number, dialect)
        yield _again(script, which, where, number, dialect)


def aborts(dialect: Dialect, every: Sequence[Kind] = KINDS) -> Iterator[Script]:
    """Two requests of every kind, one aborted at any moment, before it came, in its call, after it ended; its id
    not used again, used again at once, or at the next moment.
    """
    for number, (kinds, slots, time, which, when, again) in enumerate(
        product(product(every, repeat=2), (1, 2), MOMENTS[:4], (0, 1), LATER, (None, 0, 1))
    ):
        script = built(kinds, (START, time), slots, number, dialect)
        yield _aborted(script, which, when, again, number=number, dialect=dialect)


def aborts_of_three(dialect: Dialect) -> Iterator[Script]:
    """Three requests of few kinds, one aborted at any moment; its id not used again, or at once."""
    for number, (kinds, slots, times, which, when, again) in enumerate(
        product(product(FEW, repeat=3), (1, 2), ARRIVALS_OF_THREE, range(3), LATER, (None, 0))
    ):
        script = built(kinds, (START, *times), slots, number, dialect)
        yield _aborted(script, which, when, again, number=number, dialect=dialect)


def failures(dialect: Dialect, every: Sequence[Kind] = KINDS, few: Sequence[Kind] = FEW) -> Iterator[Script]:
    """Two requests of every kind, and three of few, one call that fails; an abort of either before it, inside it
    or after it, an arrival under an old id, a second failure, or nothing.
    """
    number = 0
    for kinds, times in (
        *product(product(every, repeat=2), ((MOMENTS[0],), (MOMENTS[1],), (MOMENTS[2],))),
        *product(product(few, repeat=3), ARRIVALS_OF_THREE[:3]),
    ):
        for slots, call, then in product((1, 2), (0, 1, 2), range(6)):
            number += 1
            script = built(kinds, (START, *times), slots, number, dialect)
            yield _failed(script, call, then, number, dialect)


def _again(script: Script, which: int, when: Moment, number: int, dialect: Dialect) -> Script:
    """Add a request with the id of `which` at a moment."""
    place, identity = len(script.asks), script.asks[which].request_id
    kind = AGAIN[number % len(AGAIN)]
    more = ask(kind, place, identity, script.stop_token, number, dialect)
    return with_move(replace(script, asks=(*script.asks, more)), Move(*when, "add", place))


def _aborted(script: Script, which: int, when: Moment, again: int | None, *, number: int, dialect: Dialect) -> Script:
    # At the moment of its arrival, an abort comes before it or after it, in turn.
    script = with_move(script, Move(*when, "abort", which), first=number % 4 == 1)
    if again is None:
        return script
    moments: tuple[Moment, ...] = (*LATER, ("step", 4))
    later = moments[LATER.index(when) + again]
    return _again(script, which, later, number, dialect)


def _failed(script: Script, call: int, then: int, number: int, dialect: Dialect) -> Script:
    script = with_move(script, Move("call", call, "fail", 0, FAULTS[number % len(FAULTS)]))
    where: Moment = ("call", call) if number % 3 == 0 else ("step", call + 1)
    if then in (1, 2):
        return with_move(script, Move(*where, "abort", then - 1))
    if then == 3:
        return _again(with_move(script, Move(*where, "abort", 0)), 0, where, number, dialect)
    if then == 5:
        return with_move(script, Move("step", call, "abort", 1))
    if then == 4:
        return with_move(script, Move("call", call + 1, "fail", 0, FAULTS[number % len(FAULTS)]))
    return script


def odd(dialect: Dialect, every: Sequence[Kind] = KINDS) -> Iterator[Script]:
    """Bad arguments, replies of a wrong length, and a model that spoils the rows that it was handed."""
    for slots in (0, -1):
        yield Script((), (), slots, 0)
    for number, (kinds, slots, time) in enumerate(product(product(every, repeat=2), (1, 2), MOMENTS[:3])):
        script = built(kinds, (START, time), slots, number, dialect)
        yield replace(script, tampers=True)
        for kind, call in product(("short", "long"), (0, 1)):
            yield with_move(script, Move("call", call, "fail", 0, kind))
        bad = script.asks[0]._replace(request_id="bad", max_tokens=-1)
        yield with_move(replace(script, asks=(*script.asks, bad)), Move(*MOMENTS[number % 5], "add", 2))


def pairs(dialect: Dialect) -> Iterator[tuple[Script, Script, bool]]:
    """Two engines side by side, with the same ids: stepped in turn, or the second one inside the first one's calls."""
    for number, (kinds, others, nested) in enumerate(
        product(product(FEW, repeat=2), product(FEW, repeat=2), (False, True))
    ):
        first = built(kinds, (START, MOMENTS[number % 3]), 1 + number % 2, 0, dialect)
        second = built(others, (START, MOMENTS[number // 3 % 3]), 1 + number // 2 % 2, 0, dialect)
        yield first, _shifted(second), nested


def _shifted(script: Script) -> Script:
    """The same with other tokens, so that one engine's rows are never another's."""
    stop = script.stop_token
    asks = tuple(
        a._replace(
            prompt=tuple(t + 7000 for t in a.prompt), script=tuple(t if t == stop else t + 7000 for t in a.script)
        )
        for a in script.asks
    )
    return replace(script, asks=asks)
