"""What a candidate is charged with: the invariants that are the first to be broken in some run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.catalogue import Judgement, judge
from conformance.study import INDEPENDENT, Finding
from conformance.workloads import Session, Workload

if TYPE_CHECKING:
    from conformance.grading.referee import Examination

SCALE = "scale/steady"
SHRINKING, SHRINKING_CALLS = 100, 10_000  # runs, and calls in them, for making one counterexample smaller
BISECTIONS = 12


def earliest(judgement: Judgement) -> set[str]:
    """The invariants whose violation is at the earliest violating event of a run."""
    first = min((violation.call for violation in judgement.violations.values()), default=0)
    return {name for name, violation in judgement.violations.items() if violation.call == first}


def settle_charges(examination: Examination) -> None:
    """Charge every invariant that some run has at its earliest violation, and make its counterexample small.

    Raises CandidateEnded when there is no time for that any more; what is charged, is.
    """
    findings, charged = examination.study.findings, examination.charged
    for name, finding in findings.items():
        if name in (INDEPENDENT, SCALE, *examination.unrepeated, *earliest(finding.judgement)):
            charged.add(name)
    for name, finding in list(findings.items()):
        if name == INDEPENDENT:
            findings[name] = _shorter(examination, finding)
        elif name != SCALE and name not in examination.unrepeated:
            shown = _shown_first(examination, finding)
            if shown is not None:
                charged.add(name)
                findings[name] = _smaller(examination, shown)


def _shown_first(examination: Examination, finding: Finding) -> Finding | None:
    """Find a run in which nothing went wrong before this; None where it is a consequence in all."""
    name = finding.invariant
    if name in earliest(finding.judgement):
        return finding
    session = examination.heads.get(name)
    if session is None:
        return None
    judgement = examination.study.alone(session.workloads[0])
    if name not in earliest(judgement):
        return None
    return replace(finding, violation=judgement.violations[name], judgement=judgement, session=session)


def _smaller(examination: Examination, finding: Finding) -> Finding:
    run, study = finding.judgement.attribution.run, examination.study
    if examination.candidate.tally.kind_of(run) == "timeout":
        return finding
    study.tries = max(10, min(SHRINKING, SHRINKING_CALLS // max(1, len(run.calls))))
    smaller = study.shrink(finding)
    return smaller if finding.invariant in earliest(smaller.judgement) else finding


def _shorter(examination: Examination, finding: Finding) -> Finding:
    """Find, by halving, how few of the runs before it a run needs in order to go wrong."""
    workloads = finding.session.workloads
    if finding.session.nested or len(workloads) < 4:
        return finding
    enough, few = len(workloads), 1
    for _ in range(BISECTIONS):
        if enough - few < 2:
            break
        middle = (enough + few) // 2
        again = _last_of(examination, workloads[-middle:])
        if again.violations:
            first = min(again.violations.values(), key=lambda violation: violation.call)
            finding = replace(finding, session=Session(workloads[-middle:]), judgement=again, violation=first)
            enough = middle
        else:
            few = middle
    return finding


def _last_of(examination: Examination, workloads: tuple[Workload, ...]) -> Judgement:
    candidate = examination.candidate
    return judge(candidate.fresh().run(Session(workloads))[-1], candidate.dialect)
