"""What a candidate is asked, by effort: legs of the study, and samples of them drawn with the seed."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import count, islice, product
from typing import Literal, TypeVar, get_args

from conformance.grading.referee_random import random_workload
from conformance.legs import scope
from conformance.study import LEGS, Leg
from conformance.workloads import Session, Workload
from reference.vocabulary import Dialect

Item = TypeVar("Item")
Workloads = Callable[[Dialect], Iterator[Workload]]
Sessions = Callable[[Dialect], Iterator[Session]]
Effort = Literal["quick", "default", "thorough"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
MOST_KEPT = 18  # legs, each in one dialect, whose sessions are kept: three dialects
MOST_TOKENS = 1_100  # of one output at `quick`: past the limits of a thousand that loops and recursion have
BY_NAME = {leg.name: leg for leg in LEGS}
TWO, THREE, FOUR = (BY_NAME[f"small scope, {number} requests"] for number in (2, 3, 4))
EMPTIES, SHARED = BY_NAME["small scope, empty prompts"], BY_NAME["small scope, shared prefixes"]
EXTRAORDINARY, CORNERS = BY_NAME["scenarios"], BY_NAME["corners"]


def plan(effort: Effort, seed: int) -> list[Leg]:
    """The legs of an effort, in their order. The same seed asks the same."""
    return list(_plan(effort, seed))


@lru_cache(maxsize=2)
def _plan(effort: Effort, seed: int) -> tuple[Leg, ...]:
    if effort == "quick":
        return (_kept(TWO), EXTRAORDINARY, *map(_kept, (_three(seed, 24), _shorter(CORNERS), *_detecting(seed, 24))))
    if effort == "default":
        return (TWO, EXTRAORDINARY, THREE, CORNERS, _four(seed), _random(seed, 200), *_detecting(seed, 3))
    return (TWO, EXTRAORDINARY, THREE, CORNERS, FOUR, _random(seed, 3000), EMPTIES, SHARED)


class _Kept:
    """The sessions of a leg in one dialect, made when they are first asked for, and then there for every candidate."""

    def __init__(self, leg: Leg, dialect: Dialect) -> None:
        self._made: list[Session] = []
        self._rest = leg.sessions(dialect)
        self._making = threading.Lock()

    def __iter__(self) -> Iterator[Session]:
        for index in count():
            if index == len(self._made):
                with self._making:
                    if index == len(self._made) and (session := next(self._rest, None)):
                        self._made.append(session)
            if index == len(self._made):
                return
            yield self._made[index]


_kept_of = lru_cache(maxsize=MOST_KEPT)(_Kept)


def _kept(leg: Leg) -> Leg:
    """A leg with its sessions kept from one candidate to the next: for few of them, of which many more were made."""
    return replace(leg, sessions=lambda dialect: iter(_kept_of(leg, dialect)))


def _alone(workloads: Iterable[Workload]) -> Iterator[Session]:
    return (Session((workload,)) for workload in workloads)


def one_of(group: int, items: Iterable[Item], seed: int) -> Iterator[Item]:
    """One of every so many that follow each other, so that no part of an enumeration is left out."""
    draw, every = random.Random(seed), iter(items)
    while chosen := list(islice(every, group)):
        yield draw.choice(chosen)


def _one_of(group: int, seed: int, of: Workloads) -> Sessions:
    """One workload of every `group` that follow each other, so that no part of the enumeration is left out."""

    def sessions(dialect: Dialect) -> Iterator[Session]:
        yield from (Session((workload,)) for workload in one_of(group, of(dialect), seed))

    return sessions


def _shorter(leg: Leg) -> Leg:
    """A leg without its longest outputs, each of which takes as long as hundreds of small runs."""

    def sessions(dialect: Dialect) -> Iterator[Session]:
        for session in leg.sessions(dialect):
            if all(len(ask.script) <= MOST_TOKENS for workload in session.workloads for ask in workload.asks):
                yield session

    return replace(leg, bound=f"{leg.bound}; outputs of at most {MOST_TOKENS:,} tokens", sessions=sessions)


def _three(seed: int, group: int) -> Leg:
    return Leg("sample of 3 requests", f"one of every {group} of the small scope", _one_of(group, seed, scope.three))


def _detecting(seed: int, group: int) -> list[Leg]:
    """Samples of the legs that are for detection only."""
    legs = (
        ("sample of empty prompts", scope.empties),
        ("sample of shared prefixes", scope.shared),
        ("sample of equal rows with unequal replies", scope.sampled),
    )
    bound = f"one of every {group} of the small scope"
    return [Leg(name, bound, _one_of(group, seed, of), naming=False) for name, of in legs]


def _four(seed: int) -> Leg:
    """Draw from each stratum of four requests: the number of slots, and the kinds of the first two requests."""

    def sessions(dialect: Dialect) -> Iterator[Session]:
        draw = random.Random(seed)
        for number, (slots, first, second) in enumerate(product((2, 3), scope.KINDS, scope.KINDS)):
            for third in draw.sample(scope.KINDS, 4):
                kinds = [first, second, third, draw.choice(scope.KINDS)]
                yield Session((scope.built(kinds, slots, scope.NAMING[number % 3], draw.randrange(60), dialect),))
        for slots, first in product((1, 4), scope.KINDS):
            kinds = [first, *draw.choices(scope.KINDS, k=3)]
            yield Session((scope.built(kinds, slots, scope.PLAIN, draw.randrange(60), dialect),))

    return Leg("sample of 4 requests", "drawn by slots and by the kinds of the first two requests", sessions)


def _random(seed: int, number: int) -> Leg:
    def sessions(dialect: Dialect) -> Iterator[Session]:
        draw = random.Random(seed)
        return _alone(random_workload(draw, dialect) for _ in range(number))

    return Leg(
        "random workloads", f"{number} drawn: up to 20 requests, token values and prompts of all kinds", sessions
    )


def busy(dialect: Dialect) -> Iterator[Session]:
    """Some workloads in which much is at stake at once, and each promise in one."""
    kinds = scope.BUSY
    for number in range(120):
        chosen = [kinds[(number * step) % len(kinds)] for step in (1, 2, 5, 7)][: 3 + number % 2]
        chosen[1:1] = [scope.KINDS[0]] * (number % 8 == 0)
        yield Session((scope.built(chosen, 1 + number % 3, scope.NAMING[number // 3 % 3], number, dialect),))
