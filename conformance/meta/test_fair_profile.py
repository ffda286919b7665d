"""The fair profile under test: its mutants, its variants, right and flawed, its witnesses and its bounds."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from conformance.engine.drive import drive
from conformance.engine.events import History
from conformance.fair import scope
from conformance.fair.catalogue import FAIR, TURNS, judge
from conformance.fair.mutation import modules, mutated
from conformance.fair.reading import read
from conformance.fair.report import block
from conformance.fair.script import FairScript
from conformance.fair.study import LEGS, Finding, Study
from conformance.fair.system import accepts
from conformance.fair.targets import REFERENCE, Subject, offers, subject
from conformance.targets import load
from reference.fair import Engine
from reference.vocabulary import Dialect, Request

HONEST = list(modules("variants"))
FLAWED = list(modules("variants/flawed"))
MUTANTS = [(name, number) for name, invariant in TURNS.items() for number in range(len(invariant.mutants))]
SIZES = {"crowds": 904, "arrivals": 4344, "aborts": 2688, "failures": 1920, "odd": 1729}


def played(script: FairScript, of: Subject) -> History:
    return drive(of.make(script.quantum), script)


def found(study: Study, name: str) -> Finding | None:
    """Search until the promise is seen broken."""
    for leg in LEGS:
        if name not in study.findings:
            study.search(leg, name)
    return study.findings.get(name)


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_the_small_scope_has_this_size(name: str, size: int) -> None:
    assert sum(1 for _ in getattr(scope, name)(Dialect())) == size


def test_every_promise_has_an_occasion_in_the_small_scope() -> None:
    of, seen = subject(REFERENCE), Counter[str]()
    for leg in LEGS[1:]:
        for script in islice(leg.scripts(of.dialect), 0, None, 10):
            reading = read(played(script, of), of.dialect, script.quantum)
            assert reading.clean
            seen.update(name for name, invariant in FAIR.items() if invariant.witness(reading))  # type: ignore[arg-type]
    assert min(seen[name] for name in TURNS) > 50
    assert {name for name in FAIR if not seen[name] and FAIR[name].level == "MUST"} == set()


@pytest.mark.parametrize("name", [REFERENCE, *HONEST])
def test_the_transition_system_explains_every_life_of_an_honest_engine(name: str) -> None:
    """The bridge, and in passing the verdict on the variants: a part of every leg."""
    studied = subject(name)
    study = Study(studied)
    for leg in LEGS[1:]:
        for script in islice(leg.scripts(study.dialect), 0, None, 6 if name == REFERENCE else 18):
            history = played(script, studied)
            assert judge(history, study.dialect, script.quantum).violations == {}
            if script.situation in ("plain", "reply") and script.num_slots:
                assert accepts(history, study.dialect, script.quantum), script.code()


def test_there_are_variants_of_both_kinds() -> None:
    assert len(HONEST) == 3
    assert len(FLAWED) == 18
    assert all(offers(load(name).module) for name in (*HONEST, *FLAWED))
    broken = {name for flawed in FLAWED for name in load(flawed).module.BREAKS}
    assert set(TURNS) <= broken <= set(FAIR)


@pytest.mark.parametrize("name", FLAWED, ids=lambda name: name.rpartition(".")[2])
def test_the_named_promises_are_seen_broken(name: str) -> None:
    studied = subject(name)
    study = Study(studied)
    for broken in studied.module.BREAKS:
        finding = found(study, broken)
        assert finding is not None, f"{name} is not seen to break {broken}, only {sorted(study.findings)}"
        report = block(finding, study.dialect)
        assert f"docs/invariants.md#{FAIR[broken].anchor}" in report
        assert "FairScript.of([" in report


@pytest.mark.parametrize(("name", "number"), MUTANTS)
def test_the_mutant_is_killed_by_its_promise(name: str, number: int) -> None:
    study = Study(mutated(name, TURNS[name].mutants[number]))
    assert found(study, name) is not None, sorted(study.findings)


def test_a_report_can_be_pasted() -> None:
    study = Study(subject("variants.flawed.fair_never_yields"))
    study.search(LEGS[1], "preempt/turn")
    finding = study.smallest(study.findings["preempt/turn"])
    again = eval(finding.script.code(), {"FairScript": FairScript})
    assert "preempt/turn" in study.alone(again)[1].violations
    assert again.num_slots == 1
    assert len(again.asks) == 2


def test_a_quantum_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="quantum"):
        Engine(None, 1, 0, quantum=0)  # type: ignore[arg-type]


def test_without_anyone_waiting_nobody_yields() -> None:
    class Model:
        def next_tokens(self, batch: list[list[int]]) -> list[int]:
            return [7] * len(batch)

    engine = Engine(Model(), 2, 0, quantum=1)
    for name in "ab":
        engine.add_request(Request(name, [1], 5))
    steps = [[output.request_id for output in engine.step()] for _ in range(5)]
    assert steps == [["a", "b"]] * 5
