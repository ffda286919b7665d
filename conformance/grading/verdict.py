"""From an examination to a verdict. A pass is positive proof: every MUST that applies was judged, and holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from conformance.attribution import attribute
from conformance.catalogue import CATALOGUE
from conformance.grading import profiles, rubric
from conformance.grading.dialects import Readings, named
from conformance.grading.referee import Examination
from conformance.grading.referee_charges import SCALE
from conformance.grading.render_picture import picture
from conformance.grading.schema import (
    SCHEMA_VERSION,
    Bound,
    Candidate,
    Charge,
    Conflict,
    Counterexample,
    DialectReport,
    InvariantReport,
    ProfileReport,
    Sandbox,
    Source,
    Status,
    Verdict,
    VerdictClass,
    session_data,
    workload_data,
)
from conformance.invariant import Invariant
from conformance.report import place
from conformance.run import drive
from conformance.study import INDEPENDENT, Finding, judged_runs
from reference.generate import generate
from reference.vocabulary import Dialect

MOST_WITNESSES = 400  # right runs that are looked through for one in which a promise was at stake
LONGEST = 400  # characters of expected and observed
Ended = Literal["", "crashed", "timeout", "garbage", "memory"]


@dataclass(frozen=True)
class Circumstances:
    """What a verdict says about the grading itself."""

    candidate: Candidate
    effort: Literal["quick", "default", "thorough"]
    seed: int
    declared: dict[str, str]
    fixed: bool
    sandbox: Sandbox


def slotspec_version() -> str:
    try:
        return version("slotspec")
    except PackageNotFoundError:
        return "unknown"


def pronounce(examination: Examination, given: Circumstances, seconds: float) -> Verdict:
    """Write the verdict of an examination that has come to its end."""
    reports = {report.name: report for report in _reports(examination)}
    kind, reason = _class(examination, reports)
    lines = rubric.graded(reports)
    return Verdict(
        SCHEMA_VERSION,
        slotspec_version(),
        given.candidate,
        kind,
        reason,
        _dialect(examination.readings, given, conforming=kind == "conforming"),
        rubric.score(lines),
        rubric.should_score(reports),
        lines,
        [reports[name] for name in rubric.ordered(list(reports))],
        given.effort,
        given.seed,
        [Bound(p.leg.name, p.leg.bound, p.sessions, p.exhausted) for p in examination.progress],
        examination.study.runs,
        examination.candidate.tally.calls,
        round(seconds, 3),
        given.sandbox,
    )


def unexamined(given: Circumstances, kind: VerdictClass, reason: str, dialect: Dialect, seconds: float) -> Verdict:
    """Write the verdict of a candidate of which nothing was seen: it could not be loaded, or we failed."""
    reports = {
        name: InvariantReport(name, invariant.level, "not judged", invariant.evidence, 0)
        for name, invariant in CATALOGUE.items()
    }
    lines = rubric.graded(reports)
    return Verdict(
        SCHEMA_VERSION,
        slotspec_version(),
        given.candidate,
        kind,
        reason,
        DialectReport(dict(vars(dialect)), "fixed" if given.fixed else "undetermined", given.declared, []),
        rubric.score(lines),
        rubric.should_score(reports),
        lines,
        [reports[name] for name in rubric.ordered(list(reports))],
        given.effort,
        given.seed,
        [],
        0,
        0,
        round(seconds, 3),
        given.sandbox,
    )


def absent(given: Circumstances, dialect: Dialect) -> Verdict:
    """Begin the verdict of a candidate whose `generate` is not graded: it has none, or it was not asked for."""
    verdict = unexamined(given, "conforming", "", dialect, 0.0)
    for report in verdict.invariants:
        report.status = "not applicable"
    verdict.rubric = []
    return verdict


def with_profiles(verdict: Verdict, reports: list[ProfileReport], seconds: float) -> Verdict:
    """Add what came of the follow-up questions: a line of the rubric for each, and its class where it is worse."""
    graded = [report for report in reports if report.verdict != "skipped"]
    verdict.profiles, verdict.seconds = reports, round(seconds, 3)
    verdict.rubric += [profiles.line(report) for report in graded]
    verdict.score = rubric.score(verdict.rubric)
    verdict.runs += sum(report.runs for report in reports)
    wrong = next((report for report in graded if report.verdict != "conforming"), None)
    if verdict.verdict == "conforming" and wrong is not None:
        kind: Any = wrong.verdict
        verdict.verdict, verdict.reason = kind, f"{wrong.profile}: {wrong.reason}"
    elif not graded and not verdict.reason:
        verdict.verdict = "invalid"
        verdict.reason = "; ".join(report.reason for report in reports) or "it offers nothing of what was asked for"
    elif not verdict.reason:
        verdict.reason = f"every MUST of {', '.join(report.profile for report in graded)} was judged and holds"
    return verdict


# -- Invariants --------------------------------------------------------------------------------------


def _reports(examination: Examination) -> list[InvariantReport]:
    shown = _shown(examination)
    return [_report(examination, invariant, shown) for invariant in CATALOGUE.values()]


def _report(examination: Examination, invariant: Invariant, shown: Callable[[str], bool]) -> InvariantReport:
    study, name = examination.study, invariant.name
    finding, judged = study.findings.get(name), judged_runs(study, name)
    status: Status = "holds"
    charge: Charge | None = None
    if name.startswith("pad/") and study.dialect.batch != "padded":
        status = "not applicable"
    elif finding is not None:
        status, charge = "violated", "charged" if name in examination.charged else "consequence"
    elif not judged or not shown(name):
        status = "not judged"
    blocked = sorted(study.blocked.get(name, {})) if status == "not judged" else []
    example = _counterexample(examination, finding) if finding is not None else None
    return InvariantReport(name, invariant.level, status, invariant.evidence, judged, charge, blocked, example)


def _shown(examination: Examination) -> Callable[[str], bool]:
    """Tell whether some run was right where an invariant was at stake.

    A candidate that was right throughout saw every leg to its end, which `meta/` tests to be occasion
    enough. For another one it is looked up: a right run of a workload is the reference's, up to the
    order of its rows.
    """
    if examination.complete and not examination.study.broken:
        return lambda name: name != SCALE or name in examination.shown
    dialect = examination.study.dialect
    open_ = {
        i.name: i.witness for i in CATALOGUE.values() if "plain" in i.situations and i.name not in examination.shown
    }
    plain = [w for w in examination.right if w.situation == "plain" and not w.sampled]
    step = max(1, len(plain) // MOST_WITNESSES)
    for workload in plain[::step] if open_ else ():
        found = attribute(drive(lambda *given: generate(*given, dialect=dialect), workload), dialect)
        open_ = {name: witness for name, witness in open_.items() if not witness(found)}
    return lambda name: name in examination.shown or name not in open_


def _counterexample(examination: Examination, finding: Finding) -> Counterexample:
    found, violation = finding.judgement.attribution, finding.violation
    expected, observed = violation.expected, violation.observed
    if finding.invariant == INDEPENDENT:
        broken = ", ".join(sorted(finding.judgement.violations))
        expected = "the last run to be as it is alone, where it is right"
        observed = f"after the runs before it, {broken}: {observed}"
    ended: Ended = "" if not (kind := examination.candidate.tally.kind_of(found.run)) else _KINDS[kind]
    workloads = finding.session.workloads
    index = len(workloads) - 1
    for number, workload in enumerate(workloads):
        if workload is found.run.workload:
            index = number
    return Counterexample(
        session_data(finding.session),
        index,
        violation.call + 1,
        place(finding),
        _cut(expected),
        _cut(observed),
        finding.leg,
        finding.invariant not in examination.unrepeated,
        ended,
        picture(found, violation),
    )


_KINDS: dict[str, Ended] = {"crashed": "crashed", "timeout": "timeout", "garbage": "garbage", "memory": "memory"}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


# -- The whole ---------------------------------------------------------------------------------------


def _class(examination: Examination, reports: dict[str, InvariantReport]) -> tuple[VerdictClass, str]:
    charged = [r for r in reports.values() if r.level == "MUST" and r.status == "violated" and r.charge == "charged"]
    broken = charged or [r for r in reports.values() if r.level == "MUST" and r.status == "violated"]
    if broken:
        ends = {r.counterexample.ended for r in broken if r.counterexample}
        reason = _because(rubric.ordered([r.name for r in broken]), reports)
        if ends == {"timeout"} or (examination.ended and ends <= {"timeout", ""} and _only_ends(broken)):
            return "timeout", examination.ended or reason
        return ("crashed" if ends and ends <= {"crashed", "memory"} else "nonconforming"), reason
    if examination.ended:
        return "timeout", examination.ended
    wanting = [r.name for r in reports.values() if r.level == "MUST" and r.status == "not judged"]
    if wanting or not examination.complete:
        return "referee-error", f"nothing was found wrong, and {', '.join(wanting) or 'a leg'} was not judged"
    return "conforming", "every MUST was judged and holds"


def _only_ends(broken: list[InvariantReport]) -> bool:
    return all(r.name == "run/ends" and r.counterexample and not r.counterexample.replayed for r in broken)


def _because(names: list[str], reports: dict[str, InvariantReport]) -> str:
    example = reports[names[0]].counterexample
    more = f", and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]} violated {example.place if example else ''}{more}"


def _dialect(readings: Readings, given: Circumstances, *, conforming: bool) -> DialectReport:
    axes = dict(vars(readings.chosen))
    if not readings.open:
        source: Source = "fixed" if given.fixed else "declared"
        return DialectReport(axes, source, given.declared, [str(readings.chosen)] if conforming else [])
    explaining = readings.explaining() if conforming else []
    source = "inferred" if len(readings.alive) == 1 else "undetermined"
    conflicts = {} if conforming else readings.conflicts()
    separating = readings.separating()
    return DialectReport(
        axes,
        source,
        given.declared,
        named(explaining),
        [Conflict(axis, {value: workload_data(w) for value, w in found.items()}) for axis, found in conflicts.items()],
        workload_data(separating) if separating else None,
    )
