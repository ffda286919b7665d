"""The examination of one candidate: what is asked, in which order, and when it is enough.

It is a `Study` of the candidate behind the wire, with three things added: the dialect is found out,
the search of a wrong candidate ends soon, and for every invariant that is broken a run is looked for
in which nothing was broken before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from conformance.catalogue import CATALOGUE, Judgement, judge
from conformance.expected import matches
from conformance.grading.dialects import Readings, probes
from conformance.grading.referee_charges import SCALE, earliest, settle_charges
from conformance.grading.referee_legs import EXTRAORDINARY, busy
from conformance.grading.referee_scale import growth
from conformance.grading.referee_watch import MORE_SECONDS, MOST_TIMEOUTS, CandidateEnded, Watched
from conformance.history import Run
from conformance.invariant import Violation
from conformance.legs import scenarios
from conformance.study import INDEPENDENT, Finding, Leg, Study
from conformance.workloads import Session, Workload

BATCH = 16  # runs in one session; what comes next can be sent before the answer to what went before
AFTER_A_FINDING = 200  # more runs, once a MUST is known to be broken
COST_OF_FRESH = 15  # a run in a fresh process costs as much as so many
DEATHS_IN_PROBES = 3  # after so many, the dialect does not matter
ENDS = "run/ends"


@dataclass
class Progress:
    """How far a leg has come."""

    leg: Leg
    sessions: int = 0
    exhausted: bool = False


@dataclass
class Examination:
    """Examine `candidate`. `study` has the findings, `charged` names those charged; `ended` says why it broke off.

    `heads` has for each invariant a session in which nothing was broken before it; `unrepeated` names
    what was seen once and did not come again, `right` the workloads of the runs that were right.
    """

    candidate: Watched
    readings: Readings
    study: Study = field(init=False)
    progress: list[Progress] = field(default_factory=list)
    heads: dict[str, Session] = field(default_factory=dict)
    charged: set[str] = field(default_factory=set)
    unrepeated: set[str] = field(default_factory=set)
    right: list[Workload] = field(default_factory=list)
    shown: set[str] = field(default_factory=set)
    ended: str = ""
    flaky: bool = False
    _left: int | None = None
    _strays: int = 0
    _deaths: int = 0
    _probed: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.study = Study(self.candidate, shrinking=False)

    @property
    def complete(self) -> bool:
        """Whether everything planned was asked."""
        return not self.ended and all(progress.exhausted for progress in self.progress)

    def examine(self, legs: list[Leg], *, scale: bool = False) -> None:
        """Find out the dialect, go through the legs, and settle what is charged; `scale` looks at growth, too."""
        self.progress = [Progress(leg) for leg in legs]
        try:
            self._find_dialect()
            for progress in self.progress:
                self._search(progress)
            self._show_what_holds()
            if scale and not self.study.broken:
                self._measure_scale()
        except CandidateEnded as end:
            self.ended = str(end)
            self._blame_end()
        self.study.settle()
        try:
            settle_charges(self)
        except CandidateEnded as end:
            self.ended = self.ended or str(end)

    # -- The dialect ---------------------------------------------------------------------------------

    def _find_dialect(self) -> None:
        if not self.readings.open:
            return
        runs: list[Run] = []
        tally = self.candidate.tally
        try:
            for _, run in self._runs(Session((workload,)) for workload in probes()):
                runs.append(run)
                if tally.deaths > DEATHS_IN_PROBES:
                    break
            if not self.readings.settle(runs) and not tally.deaths:
                # Runs that spoil each other tell little; how each of them is alone does.
                self.readings.settle([self.candidate.fresh().run(Session((w,)))[0] for w in probes()])
        except CandidateEnded:
            self.readings.settle(self.readings.runs or runs)
            raise
        finally:
            self.candidate.dialect = self.readings.chosen
        for run in runs:
            self.study.remember(Session((run.workload,)))
        self._probed = runs

    # -- The search ----------------------------------------------------------------------------------

    def _search(self, progress: Progress) -> None:
        leg = progress.leg
        few = leg is EXTRAORDINARY  # these are few, tell much, and are all asked
        if self.flaky or (self.study.broken and not few and (not leg.naming or self._left == 0)):
            return
        for session, runs in self._all(leg.sessions(self.candidate.dialect)):
            progress.sessions += 1
            self._weigh(session, runs, leg.name)
            if self._enough() and (self.flaky or not few):
                return
        progress.exhausted = True
        self.study.through.append(leg.name)
        while self._probed:  # later than the smallest workloads, which make better counterexamples
            run = self._probed.pop(0)
            self._weigh(Session((run.workload,)), [run], "probes of the dialect")
        if few:
            self.study.settle()

    def _show_what_holds(self) -> None:
        """Ask a wrong candidate some busy workloads, so that what it does right can be told as well.

        They charge nothing: with so much going on at once, a fault has many names.
        """
        if not self.study.broken or self.flaky or self.study.stateful:
            return
        for session, (run,) in self._all(busy(self.candidate.dialect)):
            if matches(run, self.candidate.dialect):
                self._weigh(session, [run], "busy workloads")
            else:
                self._note_shown(judge(run, self.candidate.dialect))

    def _measure_scale(self) -> None:
        found = growth(self.candidate)
        self.study.judged[SCALE] += 1
        self.shown.add(SCALE)
        if found:
            workload = scenarios.small(self.candidate.dialect)[0]
            violation = Violation(0, "the same time a call, however many requests wait", found)
            self._keep(SCALE, violation, self.study.alone(workload), Session((workload,)), "scale")
            self.unrepeated.discard(SCALE)

    def _enough(self) -> bool:
        """Whether a wrong candidate has been asked enough."""
        if not self.study.broken:
            return False
        if self._left is None:
            self._left = AFTER_A_FINDING
        deaths, self._deaths = self.candidate.tally.deaths - self._deaths, self.candidate.tally.deaths
        self._left = max(0, self._left - COST_OF_FRESH * (deaths + self.study.stateful) - 1)
        return self._left == 0 or self.flaky

    def _all(self, sessions: Iterator[Session]) -> Iterator[tuple[Session, list[Run]]]:
        """Run sessions, the single runs among them in batches."""
        waiting: list[Session] = []
        for session in sessions:
            single = len(session.workloads) == 1
            if single:
                waiting.append(session)
            if not single or self.study.stateful or len(waiting) == BATCH:
                yield from self._waiting(waiting)
            if not single:
                yield session, self._apart().run(session)
        yield from self._waiting(waiting)

    def _waiting(self, waiting: list[Session]) -> Iterator[tuple[Session, list[Run]]]:
        if self.study.stateful:
            yield from ((session, self._apart().run(session)) for session in waiting)
        else:
            for session, run in self._runs(iter(waiting)):
                # Meanwhile it may have turned out that runs depend on each other.
                yield session, self._apart().run(session) if self.study.stateful else [run]
        waiting.clear()

    def _apart(self) -> Watched:
        return self.candidate.fresh() if self.study.stateful else self.candidate

    def _runs(self, sessions: Iterator[Session]) -> Iterator[tuple[Session, Run]]:
        """Run single runs in one process, as a batch; after one that ended the process, go on with the next."""
        waiting: list[Session] = []
        while waiting or (waiting := list(islice(sessions, self.candidate.tally.batch(BATCH)))):
            runs = self.candidate.run(Session(tuple(session.workloads[0] for session in waiting)))
            yield from zip(waiting, runs, strict=False)
            waiting = waiting[len(runs) :]

    def _weigh(self, session: Session, runs: list[Run], leg: str) -> None:
        known, stateful = set(self.study.findings), self.study.stateful
        try:
            with self.candidate.tally.hurry():
                wrong = self.study.weigh(session, runs, leg)
        except CandidateEnded:
            if self._keep_seen(session, runs, leg):
                raise
            return
        if self.study.broken:
            self.candidate.tally.give(MORE_SECONDS)
        if not wrong:
            if len(runs) == 1:
                self.right.append(runs[0].workload)
            return
        for judgement in wrong:
            self._note_shown(judgement)
            if any(CATALOGUE[name].level == "MUST" for name in judgement.violations):
                self.readings.add_odd(judgement.attribution.run)
        if len(session.workloads) == 1:
            for name in earliest(wrong[0]):
                self.heads.setdefault(name, session)
        if self.study.stateful and not stateful and INDEPENDENT not in self.study.findings:
            self._unrepeated(wrong[0], session, leg, known)

    def _note_shown(self, judgement: Judgement) -> None:
        """A wrong run can still show that something else is right, if there was an occasion to get it wrong."""
        for name in judgement.judged - self.shown - judgement.violations.keys():
            if CATALOGUE[name].witness(judgement.attribution):
                self.shown.add(name)

    def _unrepeated(self, judgement: Judgement, session: Session, leg: str, known: set[str]) -> None:
        """Keep what was seen on the wire and did not come again. That a process ended counts the second time."""
        self.study.stateful = False
        run = judgement.attribution.run
        if self.candidate.tally.kind_of(run) and not self._strays:
            self._strays += 1  # a machine that stood still for a while looks like this, too
            return
        self.flaky = True
        index = next(i for i, workload in enumerate(session.workloads) if workload is run.workload)
        cut = session if session.nested else replace(session, workloads=session.workloads[: index + 1])
        again = self._restarted(cut)
        shown = len(cut.workloads) == 1 and again is not None and bool(earliest(again) - known)
        for name in earliest(again if shown and again else judgement) - known:
            found = again if shown and again else judgement
            self._keep(name, found.violations[name], found, cut, leg)
            if shown:
                self.unrepeated.discard(name)

    def _restarted(self, session: Session) -> Judgement | None:
        """Judge a session where nothing is shared with the processes before, not even what forks share."""
        other = self.candidate.restarted()
        try:
            return judge(other.run(session)[-1], self.candidate.dialect)
        except CandidateEnded:
            return None
        finally:
            other.candidate.close()

    def _keep_seen(self, session: Session, runs: list[Run], leg: str) -> bool:
        """There was no time to see something again: keep it as it was seen, but for a first time-out."""
        for run in runs:
            judgement = judge(run, self.candidate.dialect)
            if not any(CATALOGUE[name].level == "MUST" for name in judgement.violations):
                continue
            tally = self.candidate.tally
            if tally.kind_of(run) == "timeout" and tally.timeouts < MOST_TIMEOUTS and not self._strays:
                self._strays += 1
                self.study.stateful = False
                return False
            for name in earliest(judgement) - self.study.findings.keys():
                self._keep(name, judgement.violations[name], judgement, session, leg)
            return True
        return True

    def _keep(self, name: str, violation: Violation, judgement: Judgement, session: Session, leg: str) -> None:
        self.study.findings[name] = Finding(name, violation, judgement, session, leg, tuple(self.study.through))
        self.unrepeated.add(name)

    def _blame_end(self) -> None:
        """When it was ended and nothing is known that explains it, its last run does."""
        last = self.candidate.tally.last
        if self.study.broken or last is None:
            return
        run = last[1][-1]
        judgement = judge(run, self.candidate.dialect)
        violation = judgement.violations.get(ENDS) or Violation(len(run.calls), "an end in time", self.ended)
        self._keep(ENDS, violation, judgement, Session((run.workload,)), "its last run")
