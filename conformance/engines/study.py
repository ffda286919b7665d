"""The study of a real engine: scripts in a drawn order within a budget, judged with the slack that is declared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from conformance.engine.catalogue import ENGINE, Judgement, judged
from conformance.engine.drive import Make, drive
from conformance.engine.events import History
from conformance.engine.script import Script
from conformance.engine.study import Finding, Study
from conformance.engines.adapters import Adapter
from conformance.engines.lenient import Lenient, read, reader
from conformance.engines.scripts import plan
from conformance.engines.shrink import smallest
from conformance.engines.weaker import Declared, Slack

SHRINKING = 20.0  # seconds for one finding
BROAD = 4
SETTLED = "after a failure"
PATIENCE = 3  # times the steps that a right engine needs, for one with declared delays
NOT_TRIED = {
    "stream/private-rows": "the engine's model is the adapter's, which spoils no rows",
    "failure/resumable-odd-reply": "the engine's model has one answer a row by its shape",
    "id/independent": "engines in one process share their model; tried by hand only",
}
Progress = Callable[[int, float], None]


@dataclass
class EngineStudy(Study):
    """Findings on an adapter's engine; `used` is how far each declared deviation went, at most."""

    subject: Any
    used: dict[str, int] = field(default_factory=dict)
    tried: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    plays: int = 0
    playing: float = 0.0
    follows: list[tuple[str, Script]] = field(default_factory=list)

    @property
    def adapter(self) -> Adapter:
        assert isinstance(self.subject, Adapter)
        return self.subject

    def play(self, make: Make, script: Script) -> History:
        slack = Slack(self.adapter.policy)
        delays = any(slack.bound(name) for name in ("wait", "lack", "late", "ending", "busy"))
        started = perf_counter()
        history = drive(make, script, most_calls=slack.bound("calls"), patience=PATIENCE if delays else 1)
        self.plays, self.playing = self.plays + 1, self.playing + perf_counter() - started
        return history

    @property
    def rate(self) -> float:
        """Examples a second, all that were played counted, those for shrinking and controls too."""
        return self.plays / self.playing if self.playing else 0.0

    def judge(self, history: History) -> Judgement:
        slack = Slack(self.adapter.policy)
        judgement = judged(read(history, self.dialect, slack))
        if not judgement.violations:
            for name, amount in slack.used.items():
                self.used[name] = max(amount, self.used.get(name, 0))
        return judgement

    def reader(self, history: History) -> Lenient:
        """A fresh reading, to draw the history with."""
        return reader(history, self.dialect, Slack(self.adapter.policy))

    def _keep(self, name: str, violation: Any, history: History, script: Script, leg: str) -> None:
        """What is gone when no call fails follows from the failure, whatever it looks like: its own name will come."""
        plain = script.without_failures()
        failing = plain != script and not name.startswith("failure/") and leg != SETTLED
        if failing and name not in self.alone(plain)[1].violations:
            self.follows.append((name, script))
            return
        if self.shrinking:
            script = smallest(script, lambda other: self._shows(name, other), SHRINKING)
            history, judgement = self.alone(script)
            violation = judgement.violations[name]
        self.findings[name] = Finding(name, violation, history, script, leg)

    def _settle(self) -> None:
        """Where no failure was blamed by its own name, what followed from one is kept as it was seen."""
        if any(name.startswith("failure/") for name in self.findings):
            return
        for name, script in self.follows:
            if name not in self.findings:
                history, judgement = self.alone(script)
                if name in judgement.violations:
                    self._keep(name, judgement.violations[name], history, script, SETTLED)

    def campaign(self, seed: int, examples: int, seconds: float, progress: Progress = lambda *_: None) -> None:
        """Try the plan of a seed, until so many examples were tried or so many seconds are over."""
        started, make = perf_counter(), self.subject.make()
        for number, (leg, script) in enumerate(plan(self.adapter, seed)):
            self.seconds = perf_counter() - started
            if number >= examples or self.seconds >= seconds:
                self._settle()
                return
            self.tried[leg] += 1
            self.consider(script, leg, make)
            progress(number + 1, self.seconds)

    def idle(self) -> list[Declared]:
        """What is declared and did not occur."""
        return Slack(self.adapter.policy).idle(self.used)

    def status(self, name: str) -> str:
        """How the engine stands to a promise."""
        if name in self.findings:
            return "violated"
        unfailing = name.startswith("failure/") and "a failing call" in self.adapter.refuses
        if name in NOT_TRIED or name in self.adapter.unseen or unfailing:
            return "not tried"
        if not self.judged[name]:
            return "not judged"
        weaker = [one for one in self.adapter.policy if one.invariant == name and one.slack in self.used]
        return "weaker" if weaker else "holds"


@dataclass
class Campaign:
    """What the pytest entry asks of a real engine; `examples` times `BROAD` scripts are tried, once."""

    study: EngineStudy
    examples: int
    done: bool = False

    def _run(self) -> None:
        if not self.done:
            self.study.campaign(0, self.examples * BROAD, float("inf"))
            self.done = True

    def about(self, name: str) -> Finding | None:
        """The violation of a promise, if one was found."""
        self._run()
        return self.study.findings.get(name)

    def idle(self) -> list[Declared]:
        self._run()
        return self.study.idle()

    def blocked_by(self, name: str) -> str:
        """Name what kept a promise from being judged."""
        unseen = NOT_TRIED.get(name) or self.study.adapter.unseen.get(name)
        return unseen or ", ".join(sorted(self.study.blocked.get(name, {}))) or "nothing that was run"


def statuses(study: EngineStudy) -> dict[str, str]:
    return {name: study.status(name) for name in ENGINE}
