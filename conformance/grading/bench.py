"""What isolation costs: python -m conformance.grading.bench [TARGET]."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

from conformance.grading.isolated import IsolatedImplementation
from conformance.history import Run
from conformance.targets import load
from conformance.workloads import Session, Workload

TARGET = "variants.slot_array"
ROUNDS, RUNS, FRESH, STARTS = 15, 100, 100, 5


class Costs(NamedTuple):
    """Medians. `local` and `isolated` are microseconds per model call at batches of 4; `runs` are runs a second."""

    startup_ms: float
    fresh_ms: float
    local: float
    isolated: float
    runs: float
    small_runs: float

    @property
    def ratio(self) -> float:
        return self.isolated / self.local


def batches_of_four() -> Workload:
    """Four requests of twelve tokens each in four slots: twelve calls of four rows."""
    return Workload.of(
        [(f"r{i}", [100 + i], 12, [1000 * i + k + 1 for k in range(12)]) for i in range(4)], num_slots=4, stop_token=0
    )


def small() -> Workload:
    """What a grading mostly runs: three short requests in two slots, with four calls."""
    return Workload.of([("a", [1], 2, [5, 6]), ("b", [2], 3, [7, 0]), ("c", [], 2, [8, 9])], num_slots=2, stop_token=0)


def measure(target: str = TARGET, rounds: int = ROUNDS) -> Costs:
    """Measure a target, in this process and isolated by turns, so that a busy machine slows both."""
    local = load(target)
    starts = []
    for _ in range(STARTS):
        start = perf_counter()
        IsolatedImplementation(target).close()
        starts.append(perf_counter() - start)
    with IsolatedImplementation(target) as isolated:
        session = Session((batches_of_four(),) * RUNS)
        shorts = Session((small(),) * RUNS)
        times: dict[str, list[float]] = {"local": [], "isolated": [], "small": []}
        for _ in range(rounds):
            times["local"].append(_seconds(local.run, session) / _calls(local.run(session)))
            times["isolated"].append(_seconds(isolated.run, session) / _calls(isolated.run(session)))
            times["small"].append(_seconds(isolated.run, shorts) / RUNS)
        fresh = [_seconds(isolated.run_fresh, Session((small(),))) for _ in range(FRESH)]
        each = {name: statistics.median(values) for name, values in times.items()}
    return Costs(
        startup_ms=statistics.median(starts) * 1e3,
        fresh_ms=statistics.median(fresh) * 1e3,
        local=each["local"] * 1e6,
        isolated=each["isolated"] * 1e6,
        runs=1 / each["isolated"] / 12,
        small_runs=1 / each["small"],
    )


def _seconds(run: Callable[[Session], list[Run]], session: Session) -> float:
    start = perf_counter()
    run(session)
    return perf_counter() - start


def _calls(runs: list[Run]) -> int:
    return sum(len(run.calls) for run in runs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the costs."""
    parser = argparse.ArgumentParser(prog="python -m conformance.grading.bench", description=__doc__)
    parser.add_argument("target", nargs="?", default=TARGET, help="default: %(default)s")
    costs = measure(parser.parse_args(arguments).target)
    print(f"start of a sandbox, loaded     {costs.startup_ms:9.1f} ms")
    print(f"a fresh process by fork        {costs.fresh_ms:9.1f} ms, its run included")
    print(f"a model call, batch of 4       {costs.isolated:9.1f} us isolated, {costs.local:.1f} us in process")
    print(f"ratio                          {costs.ratio:9.1f}")
    print(f"runs of 12 calls               {costs.runs:9.0f} a second isolated")
    print(f"runs of 4 calls                {costs.small_runs:9.0f} a second isolated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
