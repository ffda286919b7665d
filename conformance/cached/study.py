"""The study of one `generate_cached`: legs of evidence, in order, until every promise is decided."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from conformance.cached.catalogue import CACHED, judge, of_profile
from conformance.cached.driving import CachedSession, drive_session
from conformance.cached.legs import LEGS, Leg
from conformance.cached.targets import Studied
from conformance.catalogue import Judgement
from conformance.invariant import Violation
from conformance.shrink import shrunk
from conformance.workloads import Disagreement, Workload
from reference.vocabulary import Dialect

INDEPENDENT = "cached:run/independent"


@dataclass(frozen=True)
class Finding:
    """A violation that was seen again, in the last run of `session`, on a fresh implementation."""

    name: str
    violation: Violation
    judgement: Judgement
    session: CachedSession
    leg: str


@dataclass
class Study:
    """Findings by the promise's label in this profile; how often each was judged; the legs that are through."""

    implementation: Studied
    findings: dict[str, Finding] = field(default_factory=dict)
    judged: Counter[str] = field(default_factory=Counter)
    blocked: dict[str, Counter[str]] = field(default_factory=dict)
    through: list[str] = field(default_factory=list)
    runs: int = 0
    shrinking: bool = True
    _earlier: list[Workload] = field(default_factory=list)

    @property
    def dialect(self) -> Dialect:
        return of_profile(self.implementation.dialect)

    @property
    def broken(self) -> bool:
        """Whether a MUST has a finding."""
        return any(CACHED[name].level == "MUST" for name in self.findings)

    def search(self, leg: Leg, *, first: bool = False) -> None:
        """Run a leg to its end, or with `first` until there is a finding."""
        if not leg.naming and self.broken:
            return
        for session in leg.sessions(self.dialect):
            self.consider(session, leg.name)
            if (first and self.findings) or (self.broken and not leg.naming):
                return
        self.through.append(leg.name)

    def consider(self, session: CachedSession, leg: str) -> bool:
        """Run a session; keep what it shows. True when it showed a violation."""
        runs = drive_session(self.implementation.generate, session)
        self.runs += len(runs)
        judgements = [judge(run, self.dialect) for run in runs]
        for judgement in judgements:
            self._count(judgement)
        for index, judgement in enumerate(judgements):
            if set(judgement.violations) - set(self.findings):
                self._confirm(session, index, leg)
        if not session.nested and not session.same_model:
            self._earlier += session.workloads
        return any(judgement.violations for judgement in judgements)

    def _count(self, judgement: Judgement) -> None:
        self.judged.update(judgement.judged)
        for name in judgement.blocked - set(judgement.violations):
            self.blocked.setdefault(name, Counter()).update(judgement.violations.keys())

    def fresh(self, session: CachedSession) -> list[Judgement]:
        """Judge a session's runs on a fresh implementation."""
        return [judge(run, self.dialect) for run in drive_session(self.implementation.fresh().generate, session)]

    def alone(self, workload: Workload) -> Judgement:
        return self.fresh(CachedSession((workload,)))[0]

    def _confirm(self, session: CachedSession, index: int, leg: str) -> None:
        """See it again: alone if that does; on the lines of the runs before; else it depends on them otherwise."""
        workload = session.workloads[index]
        again = self.alone(workload)
        if again.violations:
            self._keep(CachedSession((workload,)), again, leg)
            return
        cut = replace(session, workloads=session.workloads[: index + 1])
        if session.same_model and not self.fresh(replace(cut, same_model=False))[-1].violations:
            again = self.fresh(cut)[-1]
            for name, violation in again.violations.items():
                self.findings.setdefault(name, Finding(name, violation, again, cut, leg))
            return
        self._charge_to_the_sequence(session, index, leg)

    def _charge_to_the_sequence(self, session: CachedSession, index: int, leg: str) -> None:
        candidates = [session]
        if not session.nested:
            before = [*self._earlier, *session.workloads[:index]]
            last = session.workloads[index]
            candidates += [CachedSession((one, last)) for one in before[:-20:-1]]
            candidates += [CachedSession((*before[-length:], last)) for length in (16, 256, len(before))]
        for candidate in candidates:
            for judgement in self.fresh(candidate):
                if judgement.violations and INDEPENDENT not in self.findings:
                    violation = min(judgement.violations.values(), key=lambda v: v.call)
                    self.findings[INDEPENDENT] = Finding(INDEPENDENT, violation, judgement, candidate, leg)
                    return

    def _keep(self, session: CachedSession, judgement: Judgement, leg: str) -> None:
        for name, violation in judgement.violations.items():
            cause = self._other_cause(name, session.workloads[-1], violation)
            if cause is not None:
                other = CachedSession((cause.attribution.run.workload,))
                for real, found in cause.violations.items():
                    if real != name:
                        self.findings.setdefault(real, Finding(real, found, cause, other, leg))
            elif name not in self.findings:
                finding = Finding(name, violation, judgement, session, leg)
                self.findings[name] = self._shrunk(finding) if self.shrinking else finding

    def _other_cause(self, name: str, workload: Workload, violation: Violation) -> Judgement | None:
        """Make the control experiment, as the core's study does."""
        control = CACHED[name].control
        if control is None:
            return None
        try:
            judgement = self.alone(control(workload, violation))
        except Disagreement:
            return None
        return judgement if judgement.violations else None

    def _shrunk(self, finding: Finding) -> Finding:
        """Make the only run of a finding smaller; the small scope is searched smallest first, and left as it is."""
        if finding.leg.startswith("small scope") or len(finding.session.workloads) > 1:
            return finding
        smallest = shrunk(finding.session.workloads[0], lambda w: finding.name in self.alone(w).violations)
        judgement = self.alone(smallest)
        return replace(
            finding,
            session=CachedSession((smallest,)),
            judgement=judgement,
            violation=judgement.violations[finding.name],
        )


def studied(implementation: Studied, legs: tuple[Leg, ...] = LEGS, *, first: bool = False) -> Study:
    """Search the legs in order; with `first`, only until something is found."""
    study = Study(implementation)
    for leg in legs:
        if first and study.findings:
            break
        study.search(leg, first=first)
    return study
