"""Run static and continuous batching on one workload, and count what the model saw.

Nothing here is computed from the lengths: every figure is read off the recorded calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import reference.generate
from conformance.comparison import static
from conformance.comparison.timeline import Lane, Row, last_admission, slot_lanes
from conformance.comparison.workload import Workload
from reference.vocabulary import Dialect

Implementation = Callable[..., dict[str, list[int]]]

IMPLEMENTATIONS: dict[str, Implementation] = {
    "static": static.generate,
    "continuous": reference.generate.generate,
}

NEVER_GENERATED = -1


class RecordingModel:
    """A language model that notes the length of every row, and never gives the same token twice.

    Because of that, a row is known by the token it got: the request whose result holds the token is
    the row's request, and a row whose token is in no result is a pad row.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[int, ...]] = []
        self.given = 0

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        self.calls.append(tuple(len(row) for row in batch))
        first, self.given = self.given, self.given + len(batch)
        return list(range(first, self.given))


def record(
    implementation: Implementation, workload: Workload, batch: Literal["compact", "padded"]
) -> list[tuple[Row, ...]]:
    """Run `implementation` and return its calls: the rows, each with the request that it belongs to."""
    model, requests = RecordingModel(), workload.requests()
    results = implementation(model, requests, workload.num_slots, NEVER_GENERATED, dialect=Dialect(batch=batch))
    owners: list[int | None] = [None] * model.given
    for index, request in enumerate(requests):
        for token in results[request.request_id]:
            owners[token] = index
    owner = iter(owners)
    return [tuple(Row(next(owner), prefix) for prefix in call) for call in model.calls]


@dataclass(frozen=True)
class Cost:
    """One call: its rows, the prefix tokens read when nothing is cached, the new tokens when all is."""

    rows: int
    prefix_tokens: int
    new_tokens: int


def costs(calls: list[tuple[Row, ...]]) -> tuple[Cost, ...]:
    """Price every call. With a cache, a row is new from where the same request's previous row ended."""
    cached: dict[int | None, int] = {}
    priced = []
    for call in calls:
        new_tokens = sum(row.prefix - cached.get(row.request, 0) for row in call)
        cached.update(call)
        priced.append(Cost(len(call), sum(row.prefix for row in call), new_tokens))
    return tuple(priced)


@dataclass(frozen=True)
class Run:
    """What one implementation did with the workload."""

    name: str
    calls: tuple[Cost, ...]
    lanes: tuple[Lane, ...]
    pad_rows: int
    waits_until: int
    """The number of calls before the last request is admitted: up to there, some request waits."""

    @property
    def rows(self) -> int:
        return sum(call.rows for call in self.calls)

    @property
    def prefix_tokens(self) -> int:
        return sum(call.prefix_tokens for call in self.calls)

    @property
    def new_tokens(self) -> int:
        return sum(call.new_tokens for call in self.calls)

    @property
    def idle(self) -> int:
        """Slot-steps, one for each slot and call, in which the slot holds no request."""
        return sum(len(self.lanes) - call.rows for call in self.calls)

    @property
    def idle_while_waiting(self) -> int:
        return sum(len(self.lanes) - call.rows for call in self.calls[: self.waits_until])


@dataclass(frozen=True)
class Comparison:
    """Both runs of one workload."""

    workload: Workload
    static: Run
    continuous: Run

    @property
    def runs(self) -> tuple[Run, Run]:
        return self.static, self.continuous

    @property
    def columns(self) -> int:
        """The number of calls of the longer run: what a picture of both has to hold."""
        return max(len(run.calls) for run in self.runs)


def measure(name: str, workload: Workload) -> Run:
    """Run the implementation called `name` twice: compact for the costs, padded for the pad rows."""
    compact = record(IMPLEMENTATIONS[name], workload, "compact")
    padded = record(IMPLEMENTATIONS[name], workload, "padded")
    return Run(
        name=name,
        calls=costs(compact),
        lanes=slot_lanes(compact, workload.num_slots),
        pad_rows=sum(row.request is None for call in padded for row in call),
        waits_until=last_admission(compact),
    )


def compare(workload: Workload) -> Comparison:
    """Run both on `workload`."""
    return Comparison(workload, measure("static", workload), measure("continuous", workload))
