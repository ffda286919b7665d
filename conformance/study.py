"""The study of one implementation: legs of evidence, searched in order, until every promise is decided.

For each invariant the first violation that a leg finds is kept, after it was seen again on a fresh
copy of the implementation. What only a sequence of runs brings about is charged to run/independent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from conformance.catalogue import CATALOGUE, Judgement, judge
from conformance.expected import matches
from conformance.history import Run, Unended
from conformance.invariant import Violation
from conformance.legs import scenarios, scope
from conformance.shrink import shrunk
from conformance.targets import Implementation
from conformance.workloads import Disagreement, Session, Workload
from reference.vocabulary import Dialect

INDEPENDENT = "run/independent"


@dataclass(frozen=True)
class Finding:
    """A violation that was seen again: in the last run of `session`, on a fresh implementation."""

    invariant: str
    violation: Violation
    judgement: Judgement
    session: Session
    leg: str
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leg:
    """A source of sessions. `bound` says what has been exhausted when it is through.

    A leg that is not `naming` has prompts that are empty or equal, where one history has several
    readings. It is for detection only: left out once another leg has named a fault.
    """

    name: str
    bound: str
    sessions: Callable[[Dialect], Iterator[Session]]
    naming: bool = True


def _alone(workloads: Callable[[Dialect], Iterator[Workload]]) -> Callable[[Dialect], Iterator[Session]]:
    return lambda dialect: (Session((workload,)) for workload in workloads(dialect))


def _extraordinary(dialect: Dialect) -> Iterator[Session]:
    parts = (scenarios.failing, scenarios.arguments, scenarios.replies, scenarios.rows, scenarios.sequences)
    return chain.from_iterable(part(dialect) for part in parts)


LEGS: tuple[Leg, ...] = (
    Leg(
        "small scope, 2 requests",
        "every workload of up to 2 requests, limits 0 to 3, stop at every place, 1 to 3 slots, stop token in prompts",
        _alone(lambda dialect: scope.up_to(2, dialect)),
    ),
    Leg(
        "small scope, 3 requests",
        "every sequence of 3 requests, limits 0 to 3, stop at every place, 1 to 4 slots",
        _alone(scope.three),
    ),
    Leg("scenarios", "bad arguments, failing and misbehaving models, sequences of runs", _extraordinary),
    Leg("corners", "long outputs and prompts, many requests and slots, token values", scenarios.corners),
    Leg(
        "small scope, 4 requests",
        "every sequence of 4 requests, limits 0 to 3, stop at every place, 1 to 4 slots, reduced by symmetry",
        _alone(scope.four),
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
        _alone(lambda dialect: chain(scope.shared(dialect), scope.sampled(dialect))),
        naming=False,
    ),
)


@dataclass
class Study:
    """Findings by invariant, what was judged how often, what blocked what, and the legs that are through."""

    implementation: Implementation
    findings: dict[str, Finding] = field(default_factory=dict)
    judged: Counter[str] = field(default_factory=Counter)
    blocked: dict[str, Counter[str]] = field(default_factory=dict)
    through: list[str] = field(default_factory=list)
    runs: int = 0
    _history: list[Workload] = field(default_factory=list)
    shrinking: bool = True
    tries: int = 10**9  # runs that shrinking may still take
    stateful: bool = False  # a run was seen to depend on the ones before it
    _suspects: dict[str, Finding] = field(default_factory=dict)

    @property
    def dialect(self) -> Dialect:
        return self.implementation.dialect

    @property
    def broken(self) -> bool:
        """Whether a MUST has a finding."""
        return any(CATALOGUE[name].level == "MUST" for name in self.findings)

    def search(self, leg: Leg, stop_at: str | None = None) -> None:
        """Run a leg to its end, or until invariant `stop_at` ("" for any) has a finding."""
        if not leg.naming and self.broken:
            return
        for session in leg.sessions(self.dialect):
            self.consider(session, leg.name)
            if self.findings and (stop_at == "" or stop_at in self.findings):
                return
        self.through.append(leg.name)

    def consider(self, session: Session, leg: str) -> bool:
        """Run a session; keep what it shows. True when it showed a violation."""
        implementation = self.implementation.fresh() if self.stateful else self.implementation
        return bool(self.weigh(session, implementation.run(session), leg))

    def weigh(self, session: Session, runs: list[Run], leg: str) -> list[Judgement]:
        """Keep what the runs of a session show. Returns the judgements of those that show a violation."""
        self.runs += len(runs)
        if len(runs) == 1 and matches(runs[0], self.dialect):
            self.judged[PLAIN] += 1
            self.remember(session)
            return []
        judgements = [judge(run, self.dialect) for run in runs]
        for judgement in judgements:
            self._count(judgement)
        wrong = [index for index, judgement in enumerate(judgements) if judgement.violations]
        for index in wrong[:1]:
            if set(judgements[index].violations) - set(self.findings):
                self._confirm(session, index, judgements[index], leg)
        self.remember(session)
        return [judgements[index] for index in wrong]

    def remember(self, session: Session) -> None:
        """Note what the shared process of the implementation has run, so that it can be replayed."""
        if not session.nested and not self.stateful:
            self._history += session.workloads

    def _count(self, judgement: Judgement) -> None:
        for name in judgement.judged:
            self.judged[name] += 1
        for name in judgement.blocked - set(judgement.violations):
            self.blocked.setdefault(name, Counter()).update(judgement.violations.keys())

    def _confirm(self, session: Session, index: int, judgement: Judgement, leg: str) -> None:
        """See the violation again on a fresh implementation: alone if that does, else after the runs before it.

        What was seen and is not to be had again depends on something that is no part of the run.
        """
        workload = session.workloads[index]
        again = self.alone(workload)
        if again.violations:
            self._keep(Session((workload,)), again, leg)
            return
        self.stateful = True
        if INDEPENDENT in self.findings:
            return
        shortest = self._shortest(session, index)
        if shortest is not None:
            session, judgement = shortest
        elif isinstance(judgement.attribution.run.outcome, Unended):
            return  # a run that was stopped may have met a busy machine
        elif not session.nested:
            session = replace(session, workloads=session.workloads[: index + 1])
        first = min(judgement.violations.values(), key=lambda violation: violation.call)
        self.findings[INDEPENDENT] = Finding(INDEPENDENT, first, judgement, session, leg, tuple(self.through))

    def alone(self, workload: Workload) -> Judgement:
        """Judge one run on a fresh implementation."""
        return judge(self.implementation.fresh().run(Session((workload,)))[0], self.dialect)

    def _keep(self, session: Session, judgement: Judgement, leg: str) -> None:
        for name, violation in judgement.violations.items():
            if name in self.findings:
                continue
            cause = self._other_cause(name, session.workloads[-1], violation)
            if cause is None:
                self._add(name, violation, judgement, session, leg)
                continue
            if set(cause.violations) == {name}:
                self._suspects.setdefault(name, self._finding(name, violation, judgement, session, leg))
                continue
            other = Session((cause.attribution.run.workload,))
            for real, found in cause.violations.items():
                if real != name and real not in self.findings:
                    self._add(real, found, cause, other, leg)

    def _add(self, name: str, violation: Violation, judgement: Judgement, session: Session, leg: str) -> None:
        finding = self._finding(name, violation, judgement, session, leg)
        self.findings[name] = self.shrink(finding) if self.shrinking else finding

    def absorb(self, findings: dict[str, Finding]) -> None:
        """Take over what a search has found, where nothing was known."""
        for name, finding in findings.items():
            self.findings.setdefault(name, replace(finding, before=tuple(self.through)))

    def _finding(self, name: str, violation: Violation, judgement: Judgement, session: Session, leg: str) -> Finding:
        return Finding(name, violation, judgement, session, leg, tuple(self.through))

    def shrink(self, finding: Finding) -> Finding:
        """Make the only run of a finding smaller."""
        if len(finding.session.workloads) > 1:
            return finding

        def fails(workload: Workload) -> bool:
            self.tries -= 1
            if self.tries < 0:
                return False
            judgement = self.alone(workload)
            violation = judgement.violations.get(finding.invariant)
            return violation is not None and self._other_cause(finding.invariant, workload, violation) is None

        smallest = shrunk(finding.session.workloads[0], fails)
        judgement = self.alone(smallest)
        violation = judgement.violations.get(finding.invariant)
        if violation is None:
            return finding
        return replace(finding, session=Session((smallest,)), judgement=judgement, violation=violation)

    def settle(self) -> None:
        """After the last leg: charge what had no clear cause, if nothing else was found."""
        if not self.broken:
            self.findings.update(self._suspects)

    def _other_cause(self, name: str, workload: Workload, violation: Violation) -> Judgement | None:
        """Make the control experiment: what the run shows without the circumstance, where it still is not right."""
        control = CATALOGUE[name].control
        if control is None:
            return None
        try:
            judgement = self.alone(control(workload, violation))
        except Disagreement:
            return None
        return judgement if judgement.violations else None

    def _shortest(self, session: Session, index: int) -> tuple[Session, Judgement] | None:
        """Find the shortest sequence of runs after which the last one goes wrong."""
        workload = session.workloads[index]
        earlier = [*self._history, *session.workloads[:index]]
        if session.nested:
            candidates = [session]
        else:
            candidates = [Session((before, workload)) for before in earlier[:-50:-1] + earlier[:50]]
            candidates += [Session((*earlier[-length:], workload)) for length in (4, 16, 64, 1024, len(earlier))]
        for candidate in candidates:
            runs = self.implementation.fresh().run(candidate)
            judgements = [judge(run, self.dialect) for run in runs]
            wrong = next((i for i, judgement in enumerate(judgements) if judgement.violations), None)
            if wrong is not None:
                cut = candidate if candidate.nested else replace(candidate, workloads=candidate.workloads[: wrong + 1])
                return cut, judgements[wrong]
        return None


PLAIN = "plain runs that are as expected"


def judged_runs(study: Study, invariant: str) -> int:
    """In how many runs `invariant` could be told."""
    plain = study.judged[PLAIN] if "plain" in CATALOGUE[invariant].situations else 0
    return study.judged[invariant] + plain


def record_of(finding: Finding) -> Run:
    return finding.judgement.attribution.run
