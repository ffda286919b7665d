"""The small scope: every life up to a bound of an engine with a quantum, in a fixed order.

A request is a length, 0 to 4 tokens: scheduling depends on nothing else of it. Whether the stop token ends
it, or its limit, or both at once, takes turns, as does what the engine profile's scope lets take turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, islice, product

from conformance.engine import scope
from conformance.engine.scope import FAULTS, LATER, MOMENTS, START, Kind, Moment, with_move
from conformance.engine.script import Move
from conformance.fair.script import FairScript
from reference.vocabulary import Dialect

LENGTHS = (0, 1, 2, 4)
AGAIN = ((1, None), (3, None), (3, 2))
SPREAD: tuple[tuple[Moment, ...], ...] = ((START, START), (START, ("call", 0)), (("step", 1), ("call", 1)))
LATE: tuple[Moment, ...] = (*LATER[1:], ("call", 3), ("step", 4))


def kind(length: int, number: int) -> Kind:
    """The limit, and the place of the stop token, of a request that ends after `length` tokens."""
    return ((length, None), (length + 1, length), (length, length))[number % 3] if length else (0, None)


def built(
    lengths: tuple[int, ...], times: tuple[Moment, ...], slots: int, quantum: int, *, number: int, dialect: Dialect
) -> FairScript:
    """Make a script in which request i arrives at moment i."""
    kinds = [kind(length, number + place) for place, length in enumerate(lengths)]
    return FairScript.turned(scope.built(kinds, times, slots, number, dialect), quantum)


def arrivals(dialect: Dialect) -> Iterator[FairScript]:
    """Up to 3 requests of 0, 1, 2 and 4 tokens, 1 and 2 slots, quanta of 1 and 2 (and 3 for up to 2 requests), the
    later ones arriving at every moment.
    """
    number = 0
    for size in (1, 2, 3):
        for times in combinations_with_replacement(MOMENTS, size - 1):
            for lengths, slots, quantum in product(product(LENGTHS, repeat=size), (1, 2), (1, 2, 3)[: 5 - size]):
                number += 1
                yield built(lengths, (START, *times), slots, quantum, number=number, dialect=dialect)


def crowds(dialect: Dialect) -> Iterator[FairScript]:
    """4 and 5 requests of 1, 2 and 4 tokens, 2 and 3 slots, quanta of 1 and 2, coming together or in a row."""
    number = 0
    for size, lengths in ((4, (1, 2, 4)), (5, (1, 4))):
        scattered: tuple[Moment, ...] = (START, START, ("call", 0), ("step", 1), ("call", 2))
        for times in ((START,) * size, scattered[:size]):
            for chosen, slots, quantum in product(product(lengths, repeat=size), (2, 3), (1, 2)):
                number += 1
                asked = built(chosen[:3], times[:3], slots, quantum, number=number, dialect=dialect)
                yield _more(asked, chosen, times, number, dialect)


def _more(
    script: FairScript, lengths: tuple[int, ...], times: tuple[Moment, ...], number: int, dialect: Dialect
) -> FairScript:
    """Add the fourth request and those after it."""
    for place in range(3, len(lengths)):
        more = scope.ask(kind(lengths[place], number + place), place, f"r{place}", script.stop_token, number, dialect)
        script = replace(script, asks=(*script.asks, more))
        script = _with(script, Move(*times[place], "add", place))
    return script


def aborts(dialect: Dialect) -> Iterator[FairScript]:
    """3 requests of 1 and 4 tokens, 1 and 2 slots, quanta of 1 and 2, one aborted at any moment, running or having
    yielded; its id not used again, or at once.
    """
    for number, (lengths, slots, quantum, times, which, when, again) in enumerate(
        product(product((1, 4), repeat=3), (1, 2), (1, 2), SPREAD[:2], range(3), LATE, (False, True))
    ):
        script = _with(
            built(lengths, (START, *times), slots, quantum, number=number, dialect=dialect), Move(*when, "abort", which)
        )
        yield _again(script, which, when, number, dialect) if again else script


def failures(dialect: Dialect) -> Iterator[FairScript]:
    """3 requests of 1 and 4 tokens, 1 and 2 slots, quanta of 1 and 2, one call that fails; then nothing, a second
    failure, an abort of any, inside the failing call or after it, or one more request.
    """
    for number, (lengths, slots, quantum, times, call, then) in enumerate(
        product(product((1, 4), repeat=3), (1, 2), (1, 2), SPREAD[1:], range(5), range(6))
    ):
        script = built(lengths, (START, *times), slots, quantum, number=number, dialect=dialect)
        script = _with(script, Move("call", call, "fail", 0, FAULTS[number % len(FAULTS)]))
        where: Moment = ("call", call) if number % 2 else ("step", call + 1)
        if then < 3:
            yield _with(script, Move(*where, "abort", then))
        elif then == 3:
            yield _with(script, Move("call", call + 1, "fail", 0, FAULTS[number % len(FAULTS)]))
        else:
            yield _new(script, where, number, dialect) if then == 4 else script


def odd(dialect: Dialect) -> Iterator[FairScript]:
    """2 requests, replies of a wrong length, bad arguments, and a model that spoils the rows that it was handed."""
    yield FairScript((), (), 0, 0)
    for number, (lengths, slots, time, quantum) in enumerate(
        product(product(LENGTHS, repeat=2), (1, 2), MOMENTS[:3], (1, 2))
    ):
        script = built(lengths, (START, time), slots, quantum, number=number, dialect=dialect)
        yield replace(script, tampers=True)
        for how, call in product(("short", "long"), (0, 1, 2)):
            yield _with(script, Move("call", call, "fail", 0, how))
        bad = script.asks[0]._replace(request_id="bad", max_tokens=-1)
        yield _with(replace(script, asks=(*script.asks, bad)), Move(*MOMENTS[number % 5], "add", 2))
        yield _again(script, number % 2, MOMENTS[number % 5], number, dialect)


def sample(dialect: Dialect) -> Iterator[FairScript]:
    """Every ninth script of all that follows, to see soon what is wrong at all."""
    for leg in (crowds, arrivals, aborts, failures, odd):
        yield from islice(leg(dialect), 4, None, 9)


def _with(script: FairScript, move: Move) -> FairScript:
    moved = with_move(script, move)
    assert isinstance(moved, FairScript)
    return moved


def _again(script: FairScript, which: int, when: Moment, number: int, dialect: Dialect) -> FairScript:
    """Add a request with the id of `which` at a moment."""
    place, identity = len(script.asks), script.asks[which].request_id
    more = scope.ask(AGAIN[number % 3], place, identity, script.stop_token, number, dialect)
    return _with(replace(script, asks=(*script.asks, more)), Move(*when, "add", place))


def _new(script: FairScript, when: Moment, number: int, dialect: Dialect) -> FairScript:
    place = len(script.asks)
    more = scope.ask(AGAIN[number % 3], place, "new", script.stop_token, number, dialect)
    return _with(replace(script, asks=(*script.asks, more)), Move(*when, "add", place))
