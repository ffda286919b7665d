"""The searches: random scripts and the state machine; each gives the study what it finds."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from conformance.engine import strategies
from conformance.engine.catalogue import judge
from conformance.engine.drive import drive
from conformance.engine.machine import Violated, machine_for
from conformance.engine.script import Script
from conformance.engine.study import Finding, Study

RANDOM, MACHINE = "random scripts", "state machine"
QUIET: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "verbosity": Verbosity.quiet,
    "print_blob": False,
    "phases": (Phase.reuse, Phase.generate, Phase.shrink),
}


class Wrong(AssertionError):
    """A script that shows a violation; raised to make Hypothesis shrink it."""


def random_scripts(study: Study, examples: int) -> None:
    """Search wide scripts; the smallest wrong one that Hypothesis finds is kept."""
    wrong: list[Script] = []
    make = study.subject.make()

    @settings(max_examples=examples, report_multiple_bugs=False, **QUIET)
    @given(strategies.scripts(study.dialect))
    def wide(script: Script) -> None:
        judgement = judge(drive(make, script), study.dialect)
        study.runs += 1
        study.judged.update(judgement.judged)
        if judgement.violations:
            wrong.append(script)
            raise Wrong

    try:
        wide()
    except (Wrong, Flaky):
        study.consider(wrong[-1], RANDOM)
        return
    study.through.append(RANDOM)


def state_machine(study: Study, examples: int, steps: int = 25) -> None:
    """Let Hypothesis play the environment. What it finds is turned into a script and seen again."""
    machine = machine_for(study.subject)
    chosen = settings(max_examples=max(1, examples), stateful_step_count=steps, report_multiple_bugs=False, **QUIET)
    try:
        run_state_machine_as_test(machine, settings=chosen)
    except (Violated, Flaky):
        _keep(study, machine.seen[-1])
        return
    study.through.append(MACHINE)


def _keep(study: Study, violated: Violated) -> None:
    life, script = violated.life, violated.life.script()
    if study.consider(script, MACHINE):
        return
    history = life.player.history()
    if violated.beside:
        # What does not show again alone, the engine beside it has brought about.
        study.charge(history, violated.judgement, script, MACHINE)
        return
    for name, violation in violated.judgement.violations.items():
        study.findings.setdefault(name, Finding(name, violation, history, script, MACHINE, tuple(study.through)))
