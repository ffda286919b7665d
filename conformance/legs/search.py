"""The searches: random workloads, the state machine, and scale; each feeds the study what it finds."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis.errors import Flaky, FlakyReplay
from hypothesis.stateful import run_state_machine_as_test

from conformance.catalogue import Judgement
from conformance.invariant import Violation
from conformance.legs import scenarios, steady, strategies
from conformance.legs.machine import Violated, machine_for
from conformance.study import Finding, Study
from conformance.targets import LocalImplementation
from conformance.workloads import Session

QUIET: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "verbosity": Verbosity.quiet,
    "print_blob": False,
}


class Wrong(AssertionError):
    """A session that shows a violation; raised to make Hypothesis shrink it."""


def random_workloads(study: Study, examples: int) -> None:
    """Search wide workloads. Hypothesis shrinks the first violation of any promise, then the study keeps it."""
    name = "random workloads"

    @settings(max_examples=examples, phases=(Phase.reuse, Phase.generate, Phase.shrink), **QUIET)
    @given(strategies.sessions(study.dialect))
    def wide(session: Session) -> None:
        trial = Study(study.implementation, judged=study.judged, blocked=study.blocked)
        trial.shrinking = False
        trial.consider(session, name)
        study.runs += trial.runs
        if trial.broken:
            trials.append(trial)
            raise Wrong

    trials: list[Study] = []
    try:
        wide()
    except (Wrong, Flaky, FlakyReplay, BaseExceptionGroup) as error:
        if isinstance(error, BaseExceptionGroup) and not trials:
            raise
        study.absorb(trials[-1].findings)
    study.through.append(name)


def state_machine(study: Study, examples: int, steps: int = 24) -> None:
    """Let Hypothesis play the language model. What it finds is turned into a plain workload and seen again."""
    name = "state machine"
    implementation = study.implementation
    if not isinstance(implementation, LocalImplementation):
        return
    machine = machine_for(re.sub(r"\W", "_", implementation.name), implementation.generate, study.dialect)
    found = settings(max_examples=examples, stateful_step_count=steps, **QUIET)
    try:
        run_state_machine_as_test(machine, settings=found)
    except Violated as violated:
        if not study.consider(Session((violated.workload,)), name):
            study.absorb(_interleaved(violated.judgement, violated, name))
    study.through.append(name)


def _interleaved(judgement: Judgement, violated: Violated, leg: str) -> dict[str, Finding]:
    """What does not show again alone was brought about by the run beside it."""
    first = min(judgement.violations.values(), key=lambda violation: violation.call)
    session = Session((violated.workload,))
    return {"run/independent": Finding("run/independent", first, judgement, session, leg)}


def scale(study: Study) -> None:
    """Look at growth and at size; the finding has no workload to print but says what was run."""
    name = "scale/steady"
    implementation = study.implementation
    if not isinstance(implementation, LocalImplementation):
        return
    problem = steady.problem(implementation.generate, study.dialect)
    study.judged[name] += 1
    study.through.append("scale")
    if problem:
        workload = scenarios.small(study.dialect)[0]
        violation = Violation(0, "the same work per call at every size, and all sizes", problem)
        study.absorb({name: Finding(name, violation, study.alone(workload), Session((workload,)), "scale")})
