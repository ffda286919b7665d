"""The small scope: every workload up to a bound, in a fixed order, smallest first.

A request is a *kind*: its limit m (0 to 3 tokens) and where the stop token comes (at token 1..m, or
not at all). That is every length 0 to 3 with every finish reason: stop, length, and stop exactly at the
limit. What is left out at four requests is said at `four`, with the reason why it loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

from conformance.workloads import Ask, Tokens, Workload
from reference.vocabulary import Dialect

Kind = tuple[int, int | None]  # the limit, and which token is the stop token

KINDS: tuple[Kind, ...] = tuple((limit, stop) for limit in range(4) for stop in (*range(1, limit + 1), None))
BUSY = tuple(kind for kind in KINDS if kind[0])
SHORT = tuple(kind for kind in BUSY if kind[0] < 3)
STOPS = (2, 0, -1, 50_256, 2**31 + 11)


@dataclass(frozen=True)
class Pattern:
    """How prompts look: `{stop}` is a place for the stop token; one prompt for each request, in a cycle."""

    name: str
    prompts: tuple[tuple[int | None, ...], ...]
    ids: tuple[str, ...] = ()

    def identity(self, index: int) -> str:
        return self.ids[index] if index < len(self.ids) else f"r{index}"

    def prompt(self, index: int, stop: int) -> Tokens:
        shape = self.prompts[index % len(self.prompts)]
        return tuple(stop if token is None else 1000 * (index + 1) + token for token in shape)


PLAIN = Pattern("plain", ((10,),))
LONGER = Pattern("longer", ((10, 11, 12), (10,)))
STOPPED = Pattern("stop token in prompts", ((None,), (10, None), (None, 10), (10,)))
EMPTY = Pattern("one empty", ((), (10,), (10, 11), (10,)))
LATE_EMPTY = Pattern("a later one empty, odd ids", ((10,), (), (10, 11)), ("", "0", "a b", "ключ"))
NAMING = (PLAIN, LONGER, STOPPED)
EMPTIES = (EMPTY, LATE_EMPTY)


def built(kinds: Sequence[Kind], num_slots: int, pattern: Pattern, number: int, dialect: Dialect) -> Workload:
    """Make a workload of kinds. `number` rotates what is not enumerated: the stop token, and replies to pad rows."""
    stop = STOPS[number % len(STOPS)]
    asks = []
    for index, (limit, stops) in enumerate(kinds):
        prompt = pattern.prompt(index, stop)
        counted = len(prompt) if dialect.max_tokens == "total" else 0
        # The script goes on behind the end, so that a loop that does not stop is answered like any other.
        tokens = tuple(stop if k + 1 == stops else 1000 * (index + 1) + 50 + k for k in range(max(limit, 1)))
        asks.append(Ask(pattern.identity(index), prompt, limit + counted, tokens))
    poison = (stop, 2**40, asks[0].script[0] if asks else 7)[number % 3]
    return Workload(tuple(asks), num_slots, stop, otherwise=poison)


def up_to(count: int, dialect: Dialect, patterns: Sequence[Pattern] = NAMING) -> Iterator[Workload]:
    """Every sequence of up to `count` kinds, with 1 to count + 1 slots, under each pattern of prompts."""
    for size in range(count + 1):
        yield from exactly(size, dialect, patterns)


def exactly(size: int, dialect: Dialect, patterns: Sequence[Pattern]) -> Iterator[Workload]:
    for number, (kinds, slots) in enumerate(product(product(KINDS, repeat=size), range(1, size + 2))):
        for pattern in patterns:
            yield built(kinds, slots, pattern, number, dialect)


def three(dialect: Dialect) -> Iterator[Workload]:
    """Every sequence of three kinds, 1 to 4 slots; the patterns of prompts take turns."""
    for number, (kinds, slots) in enumerate(product(product(KINDS, repeat=3), range(1, 5))):
        yield built(kinds, slots, NAMING[number % len(NAMING)], number, dialect)


def empties(dialect: Dialect) -> Iterator[Workload]:
    """Up to two requests, and three with limits up to 2, of which one has an empty prompt."""
    yield from up_to(2, dialect, EMPTIES)
    for number, (kinds, slots) in enumerate(product(product((KINDS[0], *SHORT), repeat=3), (1, 2, 3))):
        yield built(kinds, slots, EMPTIES[number % 2], number, dialect)


def four(dialect: Dialect) -> Iterator[Workload]:
    """Four requests, 1 to 4 slots, less what says nothing new.

    With 2 and 3 slots: every sequence of kinds that have something to generate. With 4 slots all
    enter at once and none waits, so the order of the requests is an order of rows, which is free:
    each multiset once. With 1 slot a run is its requests one after another, so a fault between
    neighbours shows with three: limits up to 2 only. A request with nothing to generate changes no
    call, so four with one such are three and one: limits up to 2, at every place, with 2 slots.
    """
    for number, (kinds, slots) in enumerate(product(product(BUSY, repeat=4), (2, 3))):
        yield built(kinds, slots, NAMING[0 if number % 4 else number // 4 % len(NAMING)], number, dialect)
    rest: list[tuple[tuple[Kind, ...], int]] = [(kinds, 4) for kinds in combinations_with_replacement(BUSY, 4)]
    rest += [(kinds, 1) for kinds in product(SHORT, repeat=4)]
    rest += [((*kinds[:at], KINDS[0], *kinds[at:]), 2) for kinds in product(SHORT, repeat=3) for at in range(4)]
    for number, (kinds, slots) in enumerate(rest):
        yield built(kinds, slots, NAMING[number % 2], number, dialect)


def shared(dialect: Dialect) -> Iterator[Workload]:
    """Up to four requests with one prompt, or prompts that begin one another, so that they share all replies.

    Every choice of limits, 0 to 3; the common stream stops at token 1, 2, 3 or not at all.
    """
    for size in (2, 3, 4):
        for number, (limits, stops) in enumerate(product(product(range(4), repeat=size), (1, 2, 3, None))):
            stop = STOPS[number % len(STOPS)]
            stream = tuple(stop if k + 1 == stops else 50 + k for k in range(6))
            prompt: Tokens = ((), (9,), (stop,))[number % 3]
            nested = number % 4 == 3
            asks = []
            for index, limit in enumerate(limits):
                given = (*prompt, *stream[: index % 2 if nested and stops != 1 else 0])
                counted = len(given) if dialect.max_tokens == "total" else 0
                asks.append(
                    Ask(f"r{index}", given, limit + counted, stream[len(given) - len(prompt) :][: max(limit, 1)])
                )
            yield Workload(tuple(asks), 1 + number % (size + 1), stop, otherwise=stop if number % 2 else 777)


def sampled(dialect: Dialect) -> Iterator[Workload]:
    """Two and three requests with equal prompts and *different* replies, as sampling gives."""
    for size in (2, 3):
        for number, kinds in enumerate(product(BUSY, repeat=size)):
            if size == 3 and number % 4:
                continue
            workload = built(kinds, max(2, number % (size + 1)), PLAIN, number, dialect)
            prompt = workload.asks[0].prompt
            asks = tuple(ask._replace(prompt=prompt) for ask in workload.asks)
            yield Workload(asks, workload.num_slots, workload.stop_token, workload.otherwise, sampled=True)
