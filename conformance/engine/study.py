"""The study of one engine: legs of evidence, in order, until every promise is decided.

The first violation of each promise is kept, after it was seen again on a fresh copy of the module.
Where a promise is about a circumstance, such as an abort, the control experiment takes that circumstance
out: a fault that is still there has another cause, and is charged as what it is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from conformance.engine import scope
from conformance.engine.catalogue import ENGINE, INDEPENDENT, Judgement, judge
from conformance.engine.drive import Make, drive, drive_beside
from conformance.engine.events import History
from conformance.engine.promise import EngineViolation
from conformance.engine.script import Script, shrunk
from conformance.engine.targets import Studied
from conformance.workloads import Disagreement
from reference.vocabulary import Dialect

PATIENCE = 200  # wrong histories in one leg that show nothing new


@dataclass(frozen=True)
class Finding:
    """A violation that was seen again. `beside` is the script of the engine next to it, where it takes one."""

    invariant: str
    violation: EngineViolation
    history: History
    script: Script
    leg: str
    before: tuple[str, ...] = ()
    beside: Script | None = None
    nested: bool = False


@dataclass(frozen=True)
class Leg:
    """A source of scripts; `bound` says what has been exhausted when it is through."""

    name: str
    bound: str
    scripts: Callable[[Dialect], Iterator[Script]]


LEGS: tuple[Leg, ...] = tuple(
    Leg(name, " ".join((scripts.__doc__ or "").split()), scripts)
    for name, scripts in (
        ("first look", scope.first_look),
        ("small scope, arrivals", scope.arrivals),
        ("small scope, ids", scope.duplicates),
        ("small scope, aborts", scope.aborts),
        ("small scope, aborts of 3", scope.aborts_of_three),
        ("small scope, failures", scope.failures),
        ("small scope, odd models and arguments", scope.odd),
    )
)
BESIDE = "small scope, two engines"
CIRCUMSTANCES: tuple[tuple[str, Callable[[Script], Script]], ...] = (
    ("failure/", Script.without_failures),
    ("id/", Script.without_duplicates),
    ("id/", Script.with_distinct_ids),
    ("abort/", Script.without_aborts),
)


@dataclass
class Study:
    """Findings by invariant, what was judged how often, what blocked what, and the legs that are through."""

    subject: Studied
    findings: dict[str, Finding] = field(default_factory=dict)
    judged: Counter[str] = field(default_factory=Counter)
    blocked: dict[str, Counter[str]] = field(default_factory=dict)
    through: list[str] = field(default_factory=list)
    runs: int = 0
    shrinking: bool = True

    @property
    def dialect(self) -> Dialect:
        return self.subject.dialect

    @property
    def broken(self) -> bool:
        """Whether a MUST has a finding."""
        return any(ENGINE[name].level == "MUST" for name in self.findings)

    def play(self, make: Make, script: Script) -> History:
        return drive(make, script)

    def judge(self, history: History) -> Judgement:
        return judge(history, self.dialect)

    def search(self, leg: Leg, stop_at: str | None = None) -> None:
        """Run a leg to its end, until invariant `stop_at` ("" for any) has a finding, or until nothing new comes."""
        make, idle = self.subject.make(), 0
        for script in leg.scripts(self.dialect):
            known = len(self.findings)
            wrong = self.consider(script, leg.name, make)
            if self.findings and (stop_at == "" or stop_at in self.findings):
                return
            idle = idle + wrong if len(self.findings) == known else 0
            if idle > PATIENCE:
                return
        self.through.append(leg.name)

    def consider(self, script: Script, leg: str, make: Make | None = None) -> bool:
        """Play a script; keep what it shows. True when it showed a violation."""
        judgement = self.judge(self.play(make or self.subject.make(), script))
        self.runs += 1
        for name in judgement.judged:
            self.judged[name] += 1
        for name in judgement.blocked:
            self.blocked.setdefault(name, Counter()).update(judgement.violations.keys())
        if set(judgement.violations) - set(self.findings):
            self._confirm(script, judgement, leg)
        return bool(judgement.violations)

    def beside(self) -> None:
        """Play pairs of engines; charge what is wrong of one that is right alone."""
        self.judged[INDEPENDENT] += 1
        for first, second, nested in scope.pairs(self.dialect):
            make = self.subject.fresh() if self.findings else self.subject.make()
            histories = drive_beside(make, first, second, nested=nested)
            self.runs += 2
            for history, script, other in zip(histories, (first, second), (second, first), strict=True):
                judgement = self.judge(history)
                if judgement.violations and not self.alone(script)[1].violations:
                    self.charge(history, judgement, script, BESIDE, beside=other, nested=nested)
                    return
        self.through.append(BESIDE)

    def alone(self, script: Script) -> tuple[History, Judgement]:
        """Judge one script on a fresh copy."""
        history = self.play(self.subject.fresh(), script)
        return history, self.judge(history)

    def _confirm(self, script: Script, seen: Judgement, leg: str) -> None:
        history, judgement = self.alone(script)
        if not judgement.violations:
            self.charge(history, seen, script, leg)
            return
        for name, violation in judgement.violations.items():
            if name not in self.findings and self._caused(name, script, leg) and not self._follows(name, script):
                self._keep(name, violation, history, script, leg)

    def _follows(self, name: str, script: Script) -> bool:
        """Whether a fault is the consequence of one that is known: it is gone without the circumstance of that one."""
        for subject, control in CIRCUMSTANCES:
            known = any(other.startswith(subject) for other in self.findings)
            plain = control(script) if known and name.startswith(("arrival/", "stream/")) else script
            if plain != script and not self.alone(plain)[1].violations:
                return True
        return False

    def _shows(self, name: str, script: Script) -> bool:
        """Whether a script shows this violation, and its control experiment is right."""
        if name not in self.alone(script)[1].violations:
            return False
        control: Any = ENGINE[name].control
        return control is None or (plain := control(script)) == script or not self.alone(plain)[1].violations

    def _caused(self, name: str, script: Script, leg: str) -> bool:
        """Make the control experiment; where it is wrong too, keep what it shows."""
        control: Any = ENGINE[name].control
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

    def _keep(self, name: str, violation: EngineViolation, history: History, script: Script, leg: str) -> None:
        if self.shrinking:
            script = shrunk(script, lambda other: self._shows(name, other))
            history, judgement = self.alone(script)
            violation = judgement.violations[name]
        self.findings[name] = Finding(name, violation, history, script, leg, tuple(self.through))

    def charge(
        self,
        history: History,
        judgement: Judgement,
        script: Script,
        leg: str,
        *,
        beside: Script | None = None,
        nested: bool = False,
    ) -> None:
        """Charge what another engine, beside it or before it, has brought about."""
        if INDEPENDENT not in self.findings:
            violation = min(judgement.violations.values(), key=lambda found: found.event)
            before = tuple(self.through)
            self.findings[INDEPENDENT] = Finding(INDEPENDENT, violation, history, script, leg, before, beside, nested)
