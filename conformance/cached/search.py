"""The searches: random workloads, the state machine, and scale; each feeds the study what it finds."""

from __future__ import annotations

import re

from hypothesis import Phase, given, settings
from hypothesis.errors import Flaky, FlakyReplay
from hypothesis.stateful import run_state_machine_as_test

from conformance.cached.catalogue import MUST
from conformance.cached.driving import CachedSession, uncached
from conformance.cached.machine import CachedViolated, machine_for
from conformance.cached.study import INDEPENDENT, Finding, Study
from conformance.invariant import Violation
from conformance.legs import scenarios, steady, strategies
from conformance.legs.search import QUIET, Wrong
from conformance.workloads import Session


def random_workloads(study: Study, examples: int) -> None:
    """Search wide workloads. Hypothesis shrinks the first violation of a MUST, then the study keeps it."""
    trials: list[Study] = []

    @settings(max_examples=examples, phases=(Phase.reuse, Phase.generate, Phase.shrink), **QUIET)
    @given(strategies.sessions(study.dialect))
    def wide(session: Session) -> None:
        trial = Study(study.implementation, judged=study.judged, blocked=study.blocked, shrinking=False)
        same_model = not session.nested and len(session.workloads) > 1
        trial.consider(CachedSession(session.workloads, session.nested, same_model), "random workloads")
        study.runs += trial.runs
        if trial.broken:
            trials.append(trial)
            raise Wrong

    try:
        wide()
    except (Wrong, Flaky, FlakyReplay, BaseExceptionGroup) as error:
        if isinstance(error, BaseExceptionGroup) and not trials:
            raise
        study.findings |= {n: f for n, f in trials[-1].findings.items() if n not in study.findings}
    study.through.append("random workloads")


def state_machine(study: Study, examples: int, steps: int = 24) -> None:
    """Let Hypothesis play the language model. What it finds is turned into a plain workload and seen again."""
    implementation = study.implementation
    name = re.sub(r"\W", "_", implementation.name)
    machine = machine_for(name, implementation.generate, study.dialect, MUST)
    # What is found is made smaller as a workload, which is quicker than shrinking the steps.
    phases = (Phase.reuse, Phase.generate)
    chosen = settings(max_examples=examples, stateful_step_count=steps, phases=phases, **QUIET)
    try:
        run_state_machine_as_test(machine, settings=chosen)
    except CachedViolated as violated:
        session = CachedSession((violated.workload,))
        if not study.consider(session, "state machine"):
            # A workload does not hold the replies to pieces of a prompt, so some runs cannot be brought about again.
            judgement = violated.judgement
            name, first = min(judgement.violations.items(), key=lambda item: item[1].call)
            charged = INDEPENDENT if violated.beside else name
            study.findings[charged] = Finding(charged, first, judgement, session, "state machine")
    study.through.append("state machine")


def scale(study: Study) -> None:
    """Look at growth and at size; the finding has no workload to print but says what was run."""
    name = "cached:scale/steady"
    problem = steady.problem(uncached(study.implementation.generate), study.dialect)
    study.judged[name] += 1
    study.through.append("scale")
    if problem:
        workload = scenarios.small(study.dialect)[0]
        violation = Violation(0, "the same work per call at every size, and all sizes", problem)
        study.findings[name] = Finding(name, violation, study.alone(workload), CachedSession((workload,)), "scale")
