"""Which reading of the question a candidate took: the dialects that explain every one of its runs.

A few small workloads, run first, tell all readings apart. The search then goes on under the one
that explains most; only a run that this one does not explain is looked at under the others again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from conformance.attribution import attribute
from conformance.catalogue import MUST, judge
from conformance.expected import matches
from conformance.history import Run
from conformance.workloads import Ask, Workload
from reference.vocabulary import AXES, Dialect

DEFAULT = Dialect()
EVERY = tuple(Dialect.of(dict(zip(AXES, values, strict=True))) for values in product(*AXES.values()))
STOP, POISON = 2, 5
# What the process of the candidate reports, such as a changed prompt, is the same fault in every dialect.
SEEN = tuple(invariant for invariant in MUST if invariant.evidence == "wire")
MOST_ODD = 60  # runs kept to look for conflicting readings


def compatible(declared: Mapping[str, str]) -> tuple[Dialect, ...]:
    """The dialects that agree with what was declared; the axes that were not are open."""
    return tuple(d for d in EVERY if all(getattr(d, axis) == value for axis, value in declared.items()))


def probes() -> list[Workload]:
    """Workloads that separate every two dialects, the small ones first.

    No prompt has one token where a limit decides: there `total` looks like a limit of one too few.
    """

    def ask(index: int, prompt: int, limit: int, stops: int | None = None) -> Ask:
        base = 1000 * (index + 1)
        script = tuple(STOP if k + 1 == stops else base + 50 + k for k in range(max(1, limit)))
        return Ask(f"r{index}", tuple(base + 10 + k for k in range(prompt)), limit, script)

    rows: list[tuple[list[Ask], int]] = [
        ([ask(0, 1, 4, 2)], 1),  # the stop token is returned or not
        ([ask(0, 2, 4)], 1),  # the prompt counts or not
        ([ask(0, 3, 5)], 1),
        ([ask(0, 0, 3)], 1),
        ([ask(0, 2, 3, 3)], 1),  # the stop token as the last allowed one
        ([ask(0, 2, 4, 2)], 1),
        ([ask(0, 1, 5, 3)], 3),  # idle slots are padded or not
        ([ask(0, 3, 5)], 2),
        ([ask(0, 1, 0)], 1),
        ([ask(0, 2, 2)], 1),
        ([ask(0, 3, 2)], 1),
        ([], 2),
        ([ask(0, 2, 5), ask(1, 3, 4)], 2),
        ([ask(0, 2, 6, 3), ask(1, 2, 3)], 3),
        ([ask(0, 2, 4), ask(1, 1, 4, 1), ask(2, 3, 5)], 2),
        ([ask(0, 1, 5, 2), ask(1, 2, 6, 4), ask(2, 2, 2)], 1),
    ]
    made = [Workload(tuple(asks), slots, STOP, otherwise=(STOP, POISON)[n % 2]) for n, (asks, slots) in enumerate(rows)]
    # The one without requests comes last: whoever is wrong in the first run only shall not be right in that.
    return sorted(made, key=lambda workload: (not workload.asks, workload.size()))


def explains(run: Run, dialect: Dialect) -> bool:
    """Whether what was seen of a run on the wire breaks no MUST under a dialect."""
    return matches(run, dialect) or not judge(run, dialect, SEEN).violations


class Weight(NamedTuple):
    """How well a dialect explains some runs: whole runs, then single calls, then nearness to the default."""

    runs: int
    calls: int
    nearness: int


@dataclass
class Readings:
    """What the runs so far say about the dialect. `possible` are those that nobody has ruled out beforehand."""

    possible: tuple[Dialect, ...]
    runs: list[Run] = field(default_factory=list)
    alive: tuple[Dialect, ...] = ()
    chosen: Dialect = DEFAULT

    @property
    def open(self) -> bool:
        return len(self.possible) > 1

    def settle(self, runs: Iterable[Run]) -> bool:
        """Look at the runs of the probes, and choose the dialect that explains most; whether it explains all."""
        self.runs[:] = runs
        weights = {dialect: self._weight(dialect) for dialect in self.possible}
        self.chosen = max(self.possible, key=weights.__getitem__)
        best = weights[self.chosen]
        self.alive = tuple(d for d, w in weights.items() if (w.runs, w.calls) == (best.runs, best.calls))
        return best.runs == len(self.runs)

    def _weight(self, dialect: Dialect) -> Weight:
        right = calls = 0
        for run in self.runs:
            if explains(run, dialect):
                right += 1
                calls += len(run.calls)
            else:
                calls += len(attribute(run, dialect).owners)
        far = sum(getattr(dialect, axis) != getattr(DEFAULT, axis) for axis in AXES)
        return Weight(right, calls, -far)

    def add_odd(self, run: Run) -> None:
        """Keep a run that the chosen dialect does not explain."""
        if self.open and len(self.runs) < MOST_ODD:
            self.runs.append(run)

    def explaining(self) -> list[Dialect]:
        """The dialects that explain every run kept; of the other runs, the chosen one explains each."""
        candidates = self.alive if self.open else (self.chosen,)
        return [dialect for dialect in candidates if all(explains(run, dialect) for run in self.runs)]

    def conflicts(self) -> dict[str, dict[str, Workload]]:
        """For each axis that is read in two ways: for each value the smallest workload that reads in no other.

        None where a request on its own is served as no dialect has it: that is a plain fault, and
        what other runs look like is chance.
        """
        by_run = [(run.workload, [d for d in self.possible if explains(run, d)]) for run in self.runs]
        if not self.open or any(not dialects and len(workload.asks) < 2 for workload, dialects in by_run):
            return {}
        by_run.sort(key=lambda pair: pair[0].size())
        found: dict[str, dict[str, Workload]] = {}
        for axis in AXES:
            readings: dict[str, Workload] = {}
            for workload, dialects in by_run:
                values = {getattr(dialect, axis) for dialect in dialects}
                if len(values) == 1:
                    readings.setdefault(values.pop(), workload)
            if len(readings) > 1:
                found[axis] = readings
        return found

    def separating(self) -> Workload | None:
        """The smallest workload that was run and that the default does not explain, where another dialect does."""
        if self.chosen == DEFAULT:
            return None
        return smallest(r.workload for r in self.runs if not explains(r, DEFAULT) and explains(r, self.chosen))


def smallest(workloads: Iterable[Workload]) -> Workload | None:
    return min(workloads, key=Workload.size, default=None)


def named(dialects: Sequence[Dialect]) -> list[str]:
    return [str(dialect) for dialect in dialects]
