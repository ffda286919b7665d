"""The command `slotspec recheck`: a verdict is a claim; here it is tried again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from conformance.catalogue import judge
from conformance.grading import profile_replay
from conformance.grading.grade_one import INFER, described, grade
from conformance.grading.isolated import IsolatedImplementation
from conformance.grading.profile_replay import examples
from conformance.grading.referee_charges import SCALE
from conformance.grading.render_files import read_verdicts
from conformance.grading.render_text import clean
from conformance.grading.sandbox import SandboxError
from conformance.grading.schema import Counterexample, SchemaError, Verdict, session_of
from conformance.study import INDEPENDENT
from conformance.targets import Implementation, TargetError
from conformance.workloads import Session
from reference.vocabulary import Dialect

Grade = Callable[..., Verdict]


@click.command(name="recheck")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--target", metavar="TARGET", help="Where the candidate is now; only for one verdict.")
def recheck(file: Path, target: str | None) -> None:
    """Replay the verdicts in FILE without trusting them.

    The candidate must be the same file; every counterexample is run again, and the whole is graded
    again with the recorded effort and seed. Exit status: 0 all confirmed, 1 some are not, 2 usage error.
    """
    from conformance.grading.grade_command import interruptible

    try:
        verdicts = read_verdicts(file)
    except (OSError, SchemaError) as error:
        raise click.UsageError(f"{file} is no verdict: {error}") from None
    if target and len(verdicts) > 1:
        raise click.UsageError(f"--target is for one verdict, and {file} has {len(verdicts)}.")
    wrong = 0
    with interruptible():
        for verdict in verdicts:
            place = target or verdict.candidate.target
            try:
                problems = list(differences(verdict, place))
            except (TargetError, SandboxError) as error:
                raise click.UsageError(str(error)) from None
            wrong += bool(problems)
            click.echo(clean(f"{'differs' if problems else 'confirmed'}: {verdict.verdict}: {place}"))
            for problem in problems:
                click.echo(clean(f"  {problem}"))
    sys.exit(1 if wrong else 0)


def differences(
    verdict: Verdict, target: str, *, again: Grade = grade, factory: Any = IsolatedImplementation
) -> Iterator[str]:
    """Yield what of a verdict is not so. Raises TargetError and SandboxError."""
    now = described(target).sha256
    if now != verdict.candidate.sha256:
        yield f"the candidate is another one: its sha256 is {now}, the verdict's {verdict.candidate.sha256}"
    if any(report.counterexample for report in verdict.invariants) or any(examples(verdict)):
        yield from _replayed(verdict, target, factory)
    axes = ",".join(f"{axis}={value}" for axis, value in verdict.dialect.axes.items())
    dialect = axes if verdict.dialect.source == "fixed" else INFER
    try:
        chosen = graded_profiles(verdict)
        fresh = again(target, effort=verdict.effort, dialect=dialect, seed=verdict.seed, profiles=chosen)
    except ValueError as error:
        yield f"it cannot be graded so: {error}"
        return
    yield from _compared(verdict, fresh)


def graded_profiles(verdict: Verdict) -> list[str]:
    """What was graded of all that was offered."""
    core = any(report.status != "not applicable" for report in verdict.invariants if report.level == "MUST")
    return ["core"] * core + [report.profile for report in verdict.profiles]


def _replayed(verdict: Verdict, target: str, factory: Any) -> Iterator[str]:
    try:
        dialect = Dialect.of(verdict.dialect.axes)
        candidate = factory(target, dialect)
    except (ValueError, TargetError) as error:
        yield f"its counterexamples cannot be replayed: {error}"
        return
    try:
        for report in verdict.invariants:
            example = report.counterexample
            if example is None or not example.replayed or report.name == SCALE:
                continue
            try:
                shows = shown(candidate, report.name, example, dialect)
            except SchemaError as error:
                yield f"{report.name}: its counterexample is none: {error}"
                continue
            if not shows:
                yield f"{report.name}: its counterexample does not violate it"
        for profile, name, shown_by in examples(verdict):
            try:
                if not profile_replay.shown(candidate, profile, name, shown_by):
                    yield f"{name}: its counterexample does not violate it"
            except (SchemaError, ValueError) as error:
                yield f"{name}: its counterexample is none: {error}"
    finally:
        candidate.close()


def shown(candidate: Implementation, name: str, example: Counterexample, dialect: Dialect) -> bool:
    """Whether a counterexample, run where nothing has run before, breaks the invariant."""
    session = session_of(example.session)
    runs = candidate.fresh().run(session)
    if not 0 <= example.run < len(session.workloads) or len(runs) <= example.run:
        return False
    violations = judge(runs[example.run], dialect).violations
    if name != INDEPENDENT:
        return name in violations
    alone = candidate.fresh().run(Session((session.workloads[example.run],)))[0]
    return bool(violations) and not judge(alone, dialect).violations


def _compared(old: Verdict, new: Verdict) -> Iterator[str]:
    """Compare what a verdict claims; seconds and counts may differ, and what is measured by the clock."""
    if old.verdict != new.verdict:
        yield f"the verdict is {new.verdict}, not {old.verdict}: {new.reason}"
    if old.dialect.axes != new.dialect.axes:
        yield f"the dialect is {new.dialect.axes}, not {old.dialect.axes}"
    if old.score != new.score:
        yield f"the score is {new.score.earned:g} of {new.score.possible:g}"
    if [(line.id, line.status, line.charged) for line in old.rubric] != [
        (line.id, line.status, line.charged) for line in new.rubric
    ]:
        yield "the rubric has other lines passed"
    claimed = {report.name: (report.level, report.status, report.charge) for report in old.invariants}
    claimed.pop(SCALE, None)
    for report in new.invariants:
        if report.name == SCALE:
            continue
        found = (report.level, report.status, report.charge)
        if claimed.pop(report.name, None) != found:
            yield f"{report.name} is {report.status}{f', {report.charge}' if report.charge else ''}"
    for name in claimed:
        yield f"there is no invariant {name}"
    before, now = (
        {r.profile: (r.verdict, [(p.name, p.level, p.status) for p in r.invariants]) for r in verdict.profiles}
        for verdict in (old, new)
    )
    for profile in sorted(before.keys() | now.keys()):
        if before.get(profile) != now.get(profile):
            yield f"the profile {profile} is {now[profile][0] if profile in now else 'not graded'}"
