"""A grading from its candidates to their verdicts: what is known already, what is alike, and who grades the rest."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.grading.executors import handing
from conformance.grading.fingerprint import fingerprint, kit
from conformance.grading.grade_progress import Advance, progress
from conformance.grading.pool import Task, grade_all
from conformance.grading.referee_legs import Effort
from conformance.grading.render_files import Spool
from conformance.grading.results import Results, Settings, renamed
from conformance.grading.schema import Verdict, VerdictClass


@dataclass(frozen=True)
class Plan:
    """What is graded, and how. `seed` is None where it is drawn, and then `drawn` is what was."""

    names: Sequence[str]
    effort: Effort
    dialect: str
    seed: int | None
    drawn: int
    require: Sequence[str]
    packages: bool
    profiles: Sequence[str]
    jobs: int
    executor: str | None
    results: Path | None

    @property
    def kit(self) -> str:
        return kit(packages=self.packages)

    @property
    def settings(self) -> Settings:
        given = (list(self.require), list(self.profiles))
        return Settings(self.kit, self.effort, self.dialect, self.seed, self.packages, *given)

    def task(self, index: int) -> Task:
        given = (list(self.require), self.packages, list(self.profiles))
        return Task(index, self.names[index], self.effort, self.drawn, self.dialect, *given, kit=self.kit)


class Grading:
    """The grading of a plan; `spool` has the verdicts, `counts` how many there are of each class."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.prints: list[str | None] = []
        self.spool: Spool
        self.counts: Counter[VerdictClass] = Counter()
        self.results: Results | None = None

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Look at the candidates, and hold the results. Raises ResultsError."""
        self.prints = [fingerprint(name) for name in self.plan.names]
        if self.plan.results:
            self.results = Results(
                self.plan.results, self.plan.settings, list(zip(self.plan.names, self.prints, strict=True))
            )
            self.counts = self.results.counts
        self.spool = self.results or Spool(len(self.plan.names))
        with self.spool:
            yield

    def groups(self) -> list[list[int]]:
        """What has to be graded: candidates that are alike are in one group."""
        alike: dict[object, list[int]] = {}
        for index in self.results.missing if self.results else range(len(self.prints)):
            alike.setdefault(self.prints[index] or index, []).append(index)
        return list(alike.values())

    def grade(self) -> None:
        """Grade what is missing. Raises OtherKit, Lost and OSError; what was graded until then is kept."""
        groups = {group[0]: group for group in self.groups()}
        if not groups:
            return
        tasks = ((self.plan.task(index), self.prints[index]) for index in groups)
        done, total = self.counts.total(), len(self.prints)
        with (
            handing(self.plan.executor, self.plan.jobs, len(groups), packages=self.plan.packages) as hand,
            progress(done, total) as advance,
            contextlib.closing(grade_all(tasks, hand)) as found,  # type: ignore[type-var]
        ):
            for task, verdict in found:
                for index in groups[task.index]:
                    self._put(index, verdict, advance)

    def _put(self, index: int, verdict: Verdict, advance: Advance) -> None:
        self.spool.put(index, renamed(verdict, self.plan.names[index]))
        if self.results is None:
            self.counts[verdict.verdict] += 1
        advance(f"{self.counts['conforming']} conform, {self.counts.total() - self.counts['conforming']} do not")
