"""Grading: verdicts, dialects and points that are right."""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformance.catalogue import CATALOGUE, MUST
from conformance.grading import referee_legs, render_text, rubric
from conformance.grading.dialects import EVERY, explains, probes
from conformance.grading.referee_legs import EFFORTS, plan
from conformance.grading.schema import (
    workload_of,
)
from conformance.meta.test_grading_support import (
    BEYOND,
    BROKEN,
    EXITS,
    FLAWED,
    HONEST,
    SAMPLE,
    attacked,
    charged,
    flawed,
    guess,
    quickly,
)
from conformance.run import drive
from conformance.targets import load
from conformance.workloads import Session
from reference.generate import generate
from reference.vocabulary import Dialect

# -- Verdicts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", HONEST, ids=lambda path: path.stem)
def test_an_honest_variant_conforms_in_the_dialect_that_it_declares_though_nobody_told_it(path: Path) -> None:
    verdict = guess(path)
    assert (verdict.verdict, verdict.reason) == ("conforming", "every MUST was judged and holds")
    assert verdict.dialect.axes == vars(load(str(path)).dialect)
    assert verdict.dialect.source == "inferred"
    assert verdict.score.earned == verdict.score.possible == len(rubric.LINES)
    assert all(report.judged for report in verdict.invariants if report.level == "MUST" and report.status == "holds")


@pytest.mark.parametrize("name", SAMPLE + BEYOND)
def test_a_flawed_variant_is_charged_with_what_it_breaks(name: str) -> None:
    tree = ast.parse((FLAWED / f"{name}.py").read_text())
    breaks = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "BREAKS"
    )
    verdict = flawed(name)
    must = {i.name for i in MUST} & set(breaks)
    assert verdict.verdict == ("nonconforming" if must else "conforming")
    assert charged(verdict) | charged(verdict, "SHOULD") >= set(breaks)
    failed_lines = {line.id for line in verdict.rubric if line.status == "failed"}
    assert failed_lines >= {rubric.line_of(name) for name in must}


def test_a_right_candidate_that_calls_the_model_in_a_thread_of_asyncio_conforms(tmp_path: Path) -> None:
    """A TimeoutError comes out of asyncio as another one than the model raised, which is not the candidate's doing."""
    honest = HONEST[0].read_text().replace("def generate(", "def direct(")
    threaded = """
import asyncio
class InThread:
    def __init__(self, model):
        self.model = model
    def next_tokens(self, batch):
        async def call():
            return await asyncio.to_thread(self.model.next_tokens, batch)
        return asyncio.run(call())
def generate(model, requests, num_slots, stop_token):
    return direct(InThread(model), requests, num_slots, stop_token)
"""
    (tmp_path / "threaded.py").write_text(honest + threaded)
    verdict = quickly(tmp_path / "threaded.py")
    assert verdict.verdict == "conforming", verdict.reason
    assert "failure/any-class" in charged(verdict, "SHOULD")


def test_a_wrong_candidate_costs_less_than_an_honest_one() -> None:
    honest = quickly(HONEST[0])
    assert sorted(flawed(name).runs for name in SAMPLE[:15])[7] < honest.runs


@pytest.mark.parametrize("effort", EFFORTS)
def test_a_seed_asks_the_same_again(effort: Any) -> None:
    def first(seed: int) -> list[Session]:
        legs = [leg for leg in plan(effort, seed) if "small scope" not in leg.name]
        return [session for leg in legs for _, session in zip(range(40), leg.sessions(Dialect()), strict=False)]

    assert first(3) == first(3)
    assert first(3) != first(4)


def test_sessions_that_are_kept_are_those_that_would_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    dialect = Dialect(stop_token="excluded")
    kept = [leg for leg in plan("quick", 3) if "_kept" in leg.sessions.__qualname__]
    assert len(kept) == 6
    half = [next(iter(leg.sessions(dialect))) for leg in kept]  # one who stops early leaves the rest to be made
    whole = [list(leg.sessions(dialect)) for leg in kept]
    assert all(one is sessions[0] for one, sessions in zip(half, whole, strict=True))
    assert all(
        a is b
        for leg, sessions in zip(kept, whole, strict=True)
        for a, b in zip(leg.sessions(dialect), sessions, strict=True)
    )
    monkeypatch.setattr(referee_legs, "_kept", lambda leg: leg)
    anew = [leg for leg in referee_legs._plan.__wrapped__("quick", 3) if leg.name in {k.name for k in kept}]
    assert [list(leg.sessions(dialect)) for leg in anew] == whole


# -- Dialects ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", EVERY, ids=str)
def test_the_probes_tell_every_two_dialects_apart(dialect: Dialect) -> None:
    runs = [drive(partial(generate, dialect=dialect), workload) for workload in probes()]
    assert [other for other in EVERY if all(explains(run, other) for run in runs)] == [dialect]


def test_a_legal_reading_is_reported_with_the_smallest_workload_that_tells_it() -> None:
    verdict = guess(Path(HONEST[0]).with_name("excluded.py"))
    separating = verdict.dialect.separating
    assert separating is not None
    assert len(separating.requests) == 1
    assert not explains(
        drive(partial(generate, dialect=Dialect(stop_token="excluded")), workload_of(separating)), Dialect()
    )


def test_an_inconsistent_reading_is_wrong_and_shown_by_a_run_for_each() -> None:
    verdict = guess(FLAWED / "stop_dropped_at_limit.py")
    assert verdict.verdict == "nonconforming"
    assert [conflict.axis for conflict in verdict.dialect.conflicts] == ["stop_token"]
    assert set(verdict.dialect.conflicts[0].readings) == {"included", "excluded"}
    assert "either is legal, both is not" in render_text.screen(verdict)


def test_a_plain_fault_is_no_conflict_of_readings() -> None:
    assert guess(FLAWED / "off_by_one_limit_fewer.py").dialect.conflicts == []


def test_a_dialect_that_is_told_or_declared_is_not_inferred() -> None:
    excluded = HONEST[0].with_name("excluded.py")
    told = quickly(excluded, dialect="stop_token=included")
    assert (told.verdict, told.dialect.source) == ("nonconforming", "fixed")
    assert charged(told) == {"output/own"}
    assert quickly(excluded).dialect.source == "declared"


# -- The rubric --------------------------------------------------------------------------------------


def test_every_must_is_in_one_line_of_the_rubric_and_no_should_is() -> None:
    named = [name for line in rubric.LINES for name in line.invariants]
    assert sorted(named) == sorted(invariant.name for invariant in MUST)


def test_what_could_not_be_judged_leaves_the_denominator() -> None:
    verdict = attacked(EXITS)
    assert verdict.score.possible < len(rubric.LINES)
    assert {line.status for line in verdict.rubric} == {"failed", "not graded"}


# -- The catalogue and the verdict agree -------------------------------------------------------------


def test_a_verdict_speaks_of_every_invariant_and_of_no_other() -> None:
    for verdict in (flawed("extra_slot"), attacked(BROKEN), quickly(HONEST[0])):
        assert {report.name for report in verdict.invariants} == set(CATALOGUE)
