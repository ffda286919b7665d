"""The variants of the engine profile: every flawed one is killed by what it names, the honest ones pass."""

from __future__ import annotations

import importlib
from statistics import median

import pytest

from conformance.engine import search
from conformance.engine.catalogue import ENGINE, INDEPENDENT
from conformance.engine.mutation import ROOT, modules
from conformance.engine.report import block
from conformance.engine.study import LEGS, Study
from conformance.engine.targets import subject
from conformance.legs import scope as core_scope
from conformance.study import Study as CoreStudy
from conformance.targets import load
from conformance.workloads import Session
from reference.vocabulary import Dialect

FLAWED = tuple(modules("variants/flawed"))
ADAPTER = "variants.engines.token_pump_adapter"
HONEST = (*modules("variants"), ADAPTER)
FIRST_LOOK = LEGS[0]
QUICK = 1_500  # runs; about half a second of one processor


@pytest.mark.parametrize("name", FLAWED)
def test_a_flawed_variant_breaks_what_it_names(name: str) -> None:
    """The quick leg is enough for each of them."""
    breaks = importlib.import_module(name).BREAKS
    study = Study(subject(name), shrinking=False)
    for promise in breaks:
        if promise == INDEPENDENT:
            study.beside()
        elif promise not in study.findings:
            study.search(FIRST_LOOK, promise)
    assert set(breaks) <= set(study.findings)


def test_a_violation_is_seen_at_once() -> None:
    """Half of the flawed variants, of which every fourth is tried, show one well under a second."""
    runs = []
    for name in FLAWED[::4]:
        study = Study(subject(name), shrinking=False)
        study.search(FIRST_LOOK, "")
        runs.append(study.runs)
    assert len(runs) >= 9
    assert median(runs) < QUICK, sorted(runs)


@pytest.mark.parametrize(
    ("name", "promise"),
    [
        ("duplicate_overwrites", "id/duplicate"),
        ("failure_empties_slots", "failure/resumable"),
        ("shared_registry", INDEPENDENT),
        ("idle_division", "stream/ends"),
    ],
)
def test_the_state_machine_finds_it_alone(name: str, promise: str) -> None:
    """It acts between steps, inside calls and on two engines, and what it finds comes back as a script."""
    study = Study(subject(f"variants.flawed.engine_{name}"), shrinking=False)
    search.state_machine(study, 200)
    assert promise in study.findings


def test_every_promise_has_a_flawed_variant() -> None:
    """So that a reader finds a realistic fault for each."""
    named = {promise for name in FLAWED for promise in importlib.import_module(name).BREAKS}
    assert named == set(ENGINE)


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_variant_passes(name: str) -> None:
    """In its own dialect: first look, two engines, random scripts, the state machine."""
    study = Study(subject(name))
    study.search(FIRST_LOOK)
    study.beside()
    search.random_scripts(study, 20)
    search.state_machine(study, 10)
    assert not study.findings, "\n".join(block(finding, study.dialect) for finding in study.findings.values())
    assert study.through == [FIRST_LOOK.name, "small scope, two engines", search.RANDOM, search.MACHINE]


@pytest.mark.parametrize("name", [name for name in HONEST if name != ADAPTER])
def test_the_generate_of_an_honest_variant_passes_the_core(name: str) -> None:
    """An engine and a loop around it make a `generate`."""
    study = CoreStudy(load(name))
    for workload in core_scope.up_to(2, study.dialect):
        study.consider(Session((workload,)), "small scope")
    assert not study.findings


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("reference.engine", Dialect(max_tokens="total", stop_token="excluded")),
        ("reference.engine", Dialect(batch="padded")),
        ("variants.engine_queue_of_sequences", Dialect(max_tokens="total", stop_token="excluded", batch="padded")),
    ],
    ids=str,
)
def test_every_axis_of_the_dialect(name: str, dialect: Dialect) -> None:
    """Where an engine takes a dialect."""
    study = Study(subject(name, dialect))
    study.search(FIRST_LOOK)
    assert not study.findings, "\n".join(block(finding, dialect) for finding in study.findings.values())


def test_the_adapter_is_small() -> None:
    """An engine with other method names, callbacks and no ids is put behind the profile by one short file."""
    adapter = ROOT / f"{ADAPTER.replace('.', '/')}.py"
    assert len(adapter.read_text(encoding="utf-8").splitlines()) < 60
    assert len((ROOT / "reference" / "engine.py").read_text(encoding="utf-8").splitlines()) <= 150
