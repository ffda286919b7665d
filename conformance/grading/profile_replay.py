"""A profile's counterexample, played again where nothing has run before: what it violates, and how its life reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.cached import catalogue as cached_catalogue
from conformance.cached.attribution import cached
from conformance.cached.driving import CachedSession, drive_session
from conformance.cached.timeline import timeline
from conformance.engine import catalogue as engine_catalogue
from conformance.engine.drive import drive, drive_beside
from conformance.engine.events import History
from conformance.engine.script import Script
from conformance.engine.timeline import table
from conformance.fair import catalogue as fair_catalogue
from conformance.fair.script import FairScript
from conformance.grading.isolated import IsolatedImplementation
from conformance.grading.remote import RemoteImplementation, RemoteSubject
from conformance.grading.schema import ProfileExample, ProfileReport, SchemaError, ScriptData, Verdict, session_of
from conformance.workloads import Disagreement
from reference.vocabulary import Dialect

INDEPENDENT = ("id/independent", "cached:run/independent")


def examples(verdict: Verdict) -> Iterator[tuple[ProfileReport, str, ProfileExample]]:
    """Every counterexample of the follow-up questions, with the promise that it breaks."""
    for report in verdict.profiles:
        for promise in report.invariants:
            if promise.example is not None:
                yield report, promise.name, promise.example


def script_of(data: ScriptData) -> Script:
    """Build the script. Raises SchemaError where the data does not make one."""
    more: dict[str, Any] = {"otherwise": data.otherwise, "tampers": data.tampers}
    kind: Any = Script
    if data.quantum is not None:
        kind, more["quantum"] = FairScript, data.quantum
    if any(not 0 <= which < max(1, len(data.requests)) for _, _, _, which, _ in data.moves):
        raise SchemaError("a move of a request that is not there")
    script: Script = kind.of(data.requests, data.moves, data.num_slots, data.stop_token, **more)
    try:
        script.model  # noqa: B018
    except Disagreement as error:
        raise SchemaError(f"the replies disagree: {error}") from None
    return script


def shown(held: IsolatedImplementation, report: ProfileReport, name: str, example: ProfileExample) -> bool:
    """Whether a counterexample still breaks its promise. Raises SchemaError."""
    violations, alone, _ = played(held, report, example)
    return bool(violations) and not alone if name in INDEPENDENT else name in violations


def played(
    held: IsolatedImplementation, report: ProfileReport, example: ProfileExample
) -> tuple[set[str], set[str], str]:
    """What it violates, what its last part violates alone, and its life as text. Raises SchemaError."""
    dialect = Dialect.of(report.dialect)
    if example.session is not None:
        return _cached(RemoteImplementation(held, dialect), example, dialect)
    if example.script is None:
        raise SchemaError("a counterexample without a script or a session")
    subject, script = RemoteSubject(held, dialect), script_of(example.script)

    def judged(history: History) -> set[str]:
        if isinstance(script, FairScript):
            return set(fair_catalogue.judge(history, dialect, script.quantum).violations)
        return set(engine_catalogue.judge(history, dialect).violations)

    quantum = getattr(script, "quantum", None)
    alone = drive(subject.fresh(quantum), script)
    if example.beside is None:
        return judged(alone), set(), table(alone, dialect)
    both = drive_beside(subject.fresh(), script, script_of(example.beside), nested=example.nested)
    wrong = next((history for history in both if judged(history)), both[0])
    return judged(wrong), judged(alone), table(wrong, dialect)


def _cached(
    implementation: RemoteImplementation, example: ProfileExample, dialect: Dialect
) -> tuple[set[str], set[str], str]:
    assert example.session is not None
    session = session_of(example.session)
    made = CachedSession(session.workloads, session.nested, example.same_model)
    judgements = [cached_catalogue.judge(run, dialect) for run in drive_session(implementation.fresh().generate, made)]
    wrong = next((judgement for judgement in judgements if judgement.violations), judgements[-1])
    single = CachedSession((wrong.attribution.run.workload,))
    (run,) = drive_session(implementation.fresh().generate, single)
    alone = set(cached_catalogue.judge(run, dialect).violations)
    return set(wrong.violations), alone, timeline(cached(wrong.attribution))
