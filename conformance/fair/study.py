"""The study of one engine with a quantum: legs of evidence, until every promise is decided.

As in the engine profile: the first violation of each promise is kept, after it was seen again on a fresh
copy of the module and after the control experiment of the promise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.engine.drive import drive
from conformance.engine.events import History
from conformance.engine.promise import EngineViolation
from conformance.fair import scope
from conformance.fair.catalogue import FAIR, MUST, Judgement, judge
from conformance.fair.script import FairScript, smaller_fair
from conformance.fair.targets import Studied
from conformance.workloads import Disagreement
from reference.vocabulary import Dialect

PATIENCE = 300  # wrong histories in one leg that show nothing new


@dataclass(frozen=True)
class Finding:
    """A violation that was seen again."""

    invariant: str
    violation: EngineViolation
    history: History
    script: FairScript
    leg: str
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leg:
    """A source of scripts; `bound` says what has been exhausted when it is through."""

    name: str
    bound: str
    scripts: Callable[[Dialect], Iterator[FairScript]]


LEGS: tuple[Leg, ...] = tuple(
    Leg(name, " ".join((scripts.__doc__ or "").split()), scripts)
    for name, scripts in (
        ("a sample of the small scope", scope.sample),
        ("small scope, crowds", scope.crowds),
        ("small scope, arrivals", scope.arrivals),
        ("small scope, aborts", scope.aborts),
        ("small scope, failures", scope.failures),
        ("small scope, odd models and arguments", scope.odd),
    )
)


@dataclass
class Study:
    """Findings by promise, what was judged how often, what blocked what, and the legs that are through."""

    subject: Studied
    findings: dict[str, Finding] = field(default_factory=dict)
    judged: Counter[str] = field(default_factory=Counter)
    blocked: dict[str, Counter[str]] = field(default_factory=dict)
    through: list[str] = field(default_factory=list)
    runs: int = 0

    @property
    def dialect(self) -> Dialect:
        return self.subject.dialect

    @property
    def broken(self) -> bool:
        """Whether a MUST has a finding."""
        return not MUST.isdisjoint(self.findings)

    def search(self, leg: Leg, stop_at: str | None = None) -> None:
        """Run a leg to its end, until promise `stop_at` ("" for any) has a finding, or until nothing new comes."""
        idle = 0
        for script in leg.scripts(self.dialect):
            known = len(self.findings)
            wrong = self.consider(script, leg.name)
            if self.findings and (stop_at == "" or stop_at in self.findings):
                return
            idle = idle + wrong if len(self.findings) == known else 0
            if idle > PATIENCE:
                return
        self.through.append(leg.name)

    def consider(self, script: FairScript, leg: str) -> bool:
        """Play a script; keep what it shows. True when it showed a violation."""
        history = drive(self.subject.make(script.quantum), script)
        judgement = judge(history, self.dialect, script.quantum)
        self.runs += 1
        self.judged.update(judgement.judged)
        for name in judgement.blocked:
            self.blocked.setdefault(name, Counter()).update(judgement.violations.keys())
        if set(judgement.violations) - set(self.findings):
            self._confirm(script, leg)
        return bool(judgement.violations)

    def alone(self, script: FairScript) -> tuple[History, Judgement]:
        """Judge one script on a fresh copy."""
        history = drive(self.subject.fresh(script.quantum), script)
        return history, judge(history, self.dialect, script.quantum)

    def _confirm(self, script: FairScript, leg: str) -> None:
        history, judgement = self.alone(script)
        for name, violation in judgement.violations.items():
            if name not in self.findings and self._caused(name, script, leg):
                self._keep(name, violation, history, script, leg)

    def _caused(self, name: str, script: FairScript, leg: str) -> bool:
        """Make the control experiment; where it is wrong too, keep what it shows."""
        control: Any = FAIR[name].control
        if control is None or (plain := control(script)) == script:
            return True
        try:
            history, judgement = self.alone(plain)
        except Disagreement:
            return True
        for other, violation in judgement.violations.items():
            if other not in self.findings and other != name:
                self._keep(other, violation, history, plain, leg)
        return not judgement.violations

    def _keep(self, name: str, violation: EngineViolation, history: History, script: FairScript, leg: str) -> None:
        self.findings[name] = Finding(name, violation, history, script, leg, tuple(self.through))

    def smallest(self, finding: Finding) -> Finding:
        """Make a finding's script smaller, as long as it shows the same violation, by greedy steps."""
        while finding.script.asks:
            smaller = (self._shown(finding, script) for script in smaller_fair(finding.script))
            found = next((other for other in smaller if other is not None), None)
            if found is None:
                break
            finding = found
        return finding

    def _shown(self, finding: Finding, script: FairScript) -> Finding | None:
        try:
            history, judgement = self.alone(script)
        except Disagreement:
            return None
        violation = judgement.violations.get(finding.invariant)
        if violation is None or violation.cause != finding.violation.cause:
            return None
        return replace(finding, violation=violation, history=history, script=script)
