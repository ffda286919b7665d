"""Where sessions come from: the core's small scope and scenarios, and what only a cache has to fear."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from conformance.cached.driving import CachedSession
from conformance.legs import scenarios, scope
from conformance.legs.scope import EMPTY, LONGER, PLAIN, STOPPED, built
from conformance.workloads import Session, Workload
from reference.vocabulary import Dialect


@dataclass(frozen=True)
class Leg:
    """A source of sessions; `bound` says what has been exhausted when it is through.

    One that is not `naming` has prompts that are empty or equal, where a history has several
    readings: it is left out once another leg has named a fault.
    """

    name: str
    bound: str
    sessions: Callable[[Dialect], Iterator[CachedSession]]
    naming: bool = True


def _alone(workloads: Callable[[Dialect], Iterator[Workload]]) -> Callable[[Dialect], Iterator[CachedSession]]:
    return lambda dialect: (CachedSession((workload,)) for workload in workloads(dialect))


def _of_core(*parts: Callable[[Dialect], Iterator[Session]]) -> Callable[[Dialect], Iterator[CachedSession]]:
    return lambda dialect: (
        CachedSession(session.workloads, session.nested) for part in parts for session in part(dialect)
    )


def every_failure(dialect: Dialect) -> Iterator[CachedSession]:
    """The model fails in each forward in turn, until a run comes to its end; prompts short, long and empty."""
    kinds = [(3, None), (2, 1), (0, None), (3, 2)]
    for number, pattern in enumerate((PLAIN, LONGER, STOPPED, EMPTY)):
        for slots in (1, 2, 3):
            workload = built(kinds, slots, pattern, number, dialect)
            for call in range(workload.allowance() // slots):
                yield CachedSession((workload.with_fault("raises", call),))


def same_model(dialect: Dialect) -> Iterator[CachedSession]:
    """Runs with one model object: after a failure, after a return, with fewer slots and with more."""
    first = built([(3, None), (2, 1), (3, 2)], 2, PLAIN, 1, dialect)
    second = built([(2, None), (3, 3), (1, None), (3, None)], 3, LONGER, 2, dialect)
    third = built([(2, 1), (2, None)], 1, EMPTY, 3, dialect)
    for one, other in ((first, second), (second, first), (first, third), (third, second)):
        yield CachedSession((one, other), same_model=True)
        for call in range(3):
            yield CachedSession((one.with_fault("raises", call), other), same_model=True)
    yield CachedSession((first.with_fault("raises", 1), second.with_fault("raises", 1), third), same_model=True)


def _two(dialect: Dialect) -> Iterator[Workload]:
    return scope.up_to(2, dialect)


def _rare(dialect: Dialect) -> Iterator[Workload]:
    return chain(scope.shared(dialect), scope.sampled(dialect))


LEGS: tuple[Leg, ...] = (
    Leg(
        "small scope, 2 requests",
        "up to 2 requests, limits 0 to 3, stop at every place, 1 to 3 slots, prompts of 1 to 3 tokens",
        _alone(_two),
    ),
    Leg("failures", "a model that fails in each forward; every class of exception", every_failure),
    Leg("one model for several runs", "two and three runs on the lines that the one before left", same_model),
    Leg(
        "scenarios",
        "bad arguments, misbehaving models, sequences of runs",
        _of_core(scenarios.failing, scenarios.arguments, scenarios.replies, scenarios.rows, scenarios.sequences),
    ),
    Leg(
        "small scope, 3 requests",
        "every sequence of 3 requests, limits 0 to 3, stop at every place, 1 to 4 slots",
        _alone(scope.three),
    ),
    Leg(
        "corners",
        "long outputs and prompts, many requests and slots, token values",
        _of_core(scenarios.corners),
        naming=False,
    ),
    Leg(
        "small scope, empty prompts",
        "up to 3 requests, one with an empty prompt",
        _alone(scope.empties),
        naming=False,
    ),
    Leg(
        "small scope, shared prefixes",
        "up to 4 requests with equal or nested prompts, every choice of limits 0 to 3; equal rows with unequal replies",
        _alone(_rare),
        naming=False,
    ),
)
WIDE = Leg(
    "small scope, 4 requests",
    "every sequence of 4 requests, limits 0 to 3, stop at every place, 1 to 4 slots, reduced by symmetry",
    _alone(scope.four),
)
