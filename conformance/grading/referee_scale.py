"""Scale over the wire: does a call take the same time when many more requests wait?

The model raises early, so that only the first calls are made, while nearly everything still waits.
What the start of a run costs is subtracted. The clock is the referee's; a machine that is busy with
other things disturbs it, so that only a large factor counts, and only when it is seen three times.
"""

from __future__ import annotations

from time import perf_counter

from conformance.grading.referee_watch import Watched
from conformance.workloads import Ask, Session, Workload

FEW, MANY = 500, 8_000
SHORT, LONG = 10, 160
SLOTS, STOP = 4, -1
FACTOR = 4.0
FLOOR = 150e-6  # seconds; below it, what is measured is the start of a run and not its calls


def growth(candidate: Watched) -> str:
    """Say how the time of a call grows, or nothing. Raises CandidateEnded."""
    for tries in (1, 3, 5):
        few, many = (_per_call(candidate, count, tries) for count in (FEW, MANY))
        if many < FACTOR * max(few, FLOOR):
            return ""
    return f"{few * 1e3:.2f} ms a call with {FEW} requests, {many * 1e3:.2f} ms with {MANY}"


def _per_call(candidate: Watched, count: int, tries: int) -> float:
    counted = 1 if candidate.dialect.max_tokens == "total" else 0
    plain = Workload(tuple(Ask(f"r{i}", (i,), 1 + counted, (7,)) for i in range(count)), SLOTS, STOP)
    short, long = (
        min(_seconds(candidate, plain.with_fault("raises", calls)) for _ in range(tries)) for calls in (SHORT, LONG)
    )
    return max(0.0, long - short) / (LONG - SHORT)


def _seconds(candidate: Watched, workload: Workload) -> float:
    workload.tree  # noqa: B018  built here, outside the measurement
    start = perf_counter()
    candidate.run(Session((workload,)))
    return perf_counter() - start
