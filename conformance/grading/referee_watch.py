"""An implementation under watch: its time, its time-outs, and how its process ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic
from typing import Any, Protocol

from conformance.grading.isolated import IsolatedImplementation
from conformance.history import Run, Unended
from conformance.targets import Implementation
from conformance.workloads import Session
from reference.vocabulary import Dialect

MOST_TIMEOUTS = 2
MOST_DEATHS = 15
SLOW_SECONDS, SLOW_RUNS = 10.0, 10  # so much time with fewer runs a second than this is a fifth of the pace it needs
MORE_SECONDS = 6.0  # for seeing a violation again, and for what else a wrong candidate is asked


class Candidate(Implementation, Protocol):
    """What is graded: an implementation that can be closed, and says how its process ended."""

    @property
    def layers(self) -> tuple[str, ...]:
        """The sandbox layers in force."""

    @property
    def last_end(self) -> Any:
        """Something with `kind` and `why` when the process ended in the last session, else None."""

    def close(self) -> None:
        """End its processes."""


class CandidateEnded(Exception):
    """The candidate has used up its time, or its time-outs; nothing more is asked of it."""


@dataclass
class Tally:
    """What one candidate has used, over all its processes. `seconds` is all that it may."""

    seconds: float
    started: float = field(default_factory=monotonic)
    calls: int = 0
    timeouts: int = 0
    deaths: int = 0
    kinds: dict[str, str] = field(default_factory=dict)
    last: tuple[Session, list[Run]] | None = None
    until: float = inf
    spent: float = 0.0  # in sessions that ended well, and how many runs those were
    made: int = 0

    def give(self, seconds: float) -> None:
        """Give the candidate so many seconds more, unless that was said before."""
        if self.until == inf:
            self.until = monotonic() + seconds

    @contextmanager
    def hurry(self) -> Iterator[None]:
        """Look into something for a short while only."""
        before, self.until = self.until, min(self.until, monotonic() + MORE_SECONDS)
        try:
            yield
        finally:
            self.until = before

    def batch(self, most: int) -> int:
        """How many runs to ask for at once: few at first, so that a very slow candidate is noticed soon."""
        return min(most, max(2, self.made))

    def check(self) -> None:
        """Raise CandidateEnded when it may not go on."""
        if self.timeouts >= MOST_TIMEOUTS:
            raise CandidateEnded(f"it timed out {self.timeouts} times")
        if self.deaths >= MOST_DEATHS:
            raise CandidateEnded(f"its process ended {self.deaths} times")
        if monotonic() - self.started > self.seconds:
            raise CandidateEnded(f"it took more than {self.seconds:g} seconds in all")
        if self.spent > SLOW_SECONDS and self.made < self.spent * SLOW_RUNS:
            pace = f"{self.made} runs in {self.spent:.0f} seconds"
            raise CandidateEnded(f"{pace} are too few to come to an end in {self.seconds:g}")
        if monotonic() > self.until:
            raise CandidateEnded(f"what is wrong with it could not be looked into within {MORE_SECONDS:g} seconds")

    def note(self, session: Session, runs: list[Run], end: Any) -> list[Run]:
        """Count what was run. A process that broke off after its last answer has not ended that run well."""
        if end is not None:
            self.timeouts += end.kind == "timeout"
            self.deaths += 1
            self.kinds[end.why] = end.kind
            broken_off = Unended(end.why)
            if not runs:
                runs = [Run(session.workloads[0], (), broken_off)]
            elif not any(isinstance(run.outcome, Unended) for run in runs):
                runs = [*runs[:-1], replace(runs[-1], outcome=broken_off)]
        self.calls += sum(len(run.calls) for run in runs)
        self.last = session, runs
        return runs

    def kind_of(self, run: Run) -> str:
        """How the process of a run ended: crashed, timeout, garbage, memory, or empty for not at all."""
        return self.kinds.get(run.outcome.why, "") if isinstance(run.outcome, Unended) else ""


class Watched:
    """A candidate under watch; fulfils `Implementation`. All that `fresh` makes of it shares the tally."""

    def __init__(self, candidate: Any, tally: Tally, dialect: Dialect) -> None:
        self.candidate, self.tally, self.dialect = candidate, tally, dialect
        self.name: str = candidate.name

    def run(self, session: Session) -> list[Run]:
        self.tally.check()
        started = monotonic()
        runs = self.candidate.run(session)
        end = getattr(self.candidate, "last_end", None)
        if end is None:
            self.tally.spent += monotonic() - started
            self.tally.made += len(runs)
        return self.tally.note(session, runs, end)

    def fresh(self) -> Watched:
        return Watched(self.candidate.fresh(), self.tally, self.dialect)

    def restarted(self) -> Watched:
        """Like `fresh`, in a process that shares nothing with those before; close its candidate."""
        isolated = isinstance(self.candidate, IsolatedImplementation)
        again = self.candidate.fresh(restart=True) if isolated else self.candidate.fresh()
        return Watched(again, self.tally, self.dialect)
