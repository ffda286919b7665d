"""Runs out of the ordinary: bad arguments, a model that fails or misbehaves, several runs in one process, size."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.legs.scope import BUSY, PLAIN, built
from conformance.workloads import ORDINARY, UNUSUAL, Ask, Session, Workload
from reference.vocabulary import Dialect


def _ask(
    index: int, prompt: int, tokens: int, dialect: Dialect, *, stop: int | None = None, limit: int | None = None
) -> Ask:
    """A request with `prompt` prompt tokens that generates `tokens` ones, the last one `stop` if that is given."""
    base = 10_000 * (index + 1)
    script = [base + 5_000 + k for k in range(tokens)]
    if stop is not None:
        script[-1] = stop
    counted = prompt if dialect.max_tokens == "total" else 0
    given = tuple(base + k for k in range(prompt))
    return Ask(f"r{index}", given, (tokens if limit is None else limit) + counted, tuple(script))


def small(dialect: Dialect) -> list[Workload]:
    """A handful of workloads with two or three slots' worth of traffic, the ground for the faults below."""
    kinds = [(3, None), (2, 1), (3, 2), (1, None), (2, None)]
    return [
        built(kinds[:1], 1, PLAIN, 0, dialect),
        built(kinds[:3], 2, PLAIN, 1, dialect),
        built(kinds, 2, PLAIN, 2, dialect),
        built(kinds, 3, PLAIN, 3, dialect),
        built(kinds[::-1], 8, PLAIN, 4, dialect),
    ]


def failing(dialect: Dialect) -> Iterator[Session]:
    """The model raises at each of the first calls; every class of exception once."""
    for workload in small(dialect):
        for call in range(3):
            yield Session((workload.with_fault("raises", call),))
    for exception in (*ORDINARY, *UNUSUAL):
        yield Session((small(dialect)[2].with_fault("raises", 1, exception),))


def arguments(dialect: Dialect) -> Iterator[Session]:
    one, two = _ask(0, 1, 2, dialect), _ask(1, 1, 2, dialect)
    twin = two._replace(request_id=one.request_id)
    for asks, slots in (
        ((one, two), 0),
        ((one,), -1),
        ((), 0),
        ((one, twin), 2),
        ((one, two, twin), 1),
        ((one._replace(max_tokens=0), twin), 2),
        ((one, two._replace(max_tokens=-1)), 2),
        ((one._replace(max_tokens=-3),), 1),
    ):
        yield Session((Workload(asks, slots, 2),))


def replies(dialect: Dialect) -> Iterator[Session]:
    """Replies that are a token short or long, in the first call and in a later one."""
    for workload in small(dialect):
        for call in range(2):
            yield Session((workload.with_fault("short", call),))
            yield Session((workload.with_fault("long", call),))


def rows(dialect: Dialect) -> Iterator[Session]:
    """A model that alters the rows it was handed, or keeps them and looks again at the end."""
    for workload in small(dialect):
        yield Session((workload.with_fault("tampers", 0),))
        yield Session((workload.with_fault("keeps", 0),))


def sequences(dialect: Dialect) -> Iterator[Session]:
    """Several runs in one process: the same ids with other replies, after a failure, and one within another."""
    first, second = small(dialect)[1], built([(2, None), (3, 3), (3, None)], 2, PLAIN, 6, dialect)
    third = built([(1, 1), (0, None), (2, None)], 3, PLAIN, 3, dialect)
    empty = Workload((), 2, 5)
    failed = first.with_fault("raises", 1)
    yield Session((first, second))
    yield Session((second, third, first))
    yield Session((first, first))
    yield Session((failed, second))
    yield Session((failed, failed, first))
    yield Session((third, empty, second))
    yield Session((second.with_fault("raises", 0), third))
    yield Session((first, second), nested=True)
    yield Session((second, third), nested=True)
    yield Session((second, second), nested=True)


def corners(dialect: Dialect) -> Iterator[Session]:
    """Sizes beyond the small scope: long outputs and prompts, many requests, many slots, many finishing at once."""

    def serve(asks: list[Ask], slots: int, stop: int = 0, otherwise: int = 777) -> Session:
        return Session((Workload(tuple(asks), slots, stop, otherwise=otherwise),))

    lengths = [1, 9, 2, 17, 3, 8, 30, 1, 12, 25, 4, 16]
    yield serve([_ask(i, 1, n, dialect) for i, n in enumerate(lengths)], 3)
    yield serve([_ask(i, 1, n, dialect, stop=0, limit=n + i % 3) for i, n in enumerate(lengths)], 4, otherwise=0)
    yield serve([_ask(i, i % 5 + (i > 5), 1 + i * 7 % 5, dialect) for i in range(1, 41)], 3)
    yield serve([_ask(i, 2, 1 + i % 3, dialect, stop=0) for i in range(70)], 8)
    yield serve([_ask(i, 1, 3, dialect) for i in range(24)], 6)
    yield serve([_ask(i, 1, 1, dialect) for i in range(40)], 20)
    yield serve([_ask(i, 3, 2, dialect, stop=0) for i in range(10)], 64)
    yield serve([_ask(i, 2, 1 + i % 2, dialect) for i in range(300)], 2)
    yield serve([_ask(0, 1, 1_300, dialect), _ask(1, 1, 2, dialect)], 2)
    yield serve([_ask(0, 1_100, 3, dialect), _ask(1, 2, 4, dialect)], 1)
    yield serve([_ask(0, 2, 1_050, dialect, stop=0, limit=5_000), _ask(1, 0, 3, dialect), _ask(2, 1, 5, dialect)], 1)
    values = (0, -1, -(2**33), 255, 256, 257, 2**31, 2**63, 2**70, 1)
    for stop in (0, -7, 1, 257, 2**31 + 1, 2**70 + 1):
        script = tuple(v for v in values if v != stop)
        asks = [Ask(i, (n, -n), 40, (*script[n:], stop)) for n, i in enumerate(("", "0", "None", "r 0", "ключ", "r\n"))]
        yield serve(asks, 2, stop)
        yield serve([ask._replace(max_tokens=ask.max_tokens + 2) for ask in asks], 4, stop, otherwise=stop)


def busiest(dialect: Dialect) -> Workload:
    """The workload that pictures use: every kind of request once, on three slots."""
    return built(BUSY[:4], 3, PLAIN, 0, dialect)
