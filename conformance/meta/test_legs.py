"""Every leg of evidence has teeth of its own: it finds faults when it is the only one."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.legs import scope, search
from conformance.legs.machine import machine_for
from conformance.report import block
from conformance.study import LEGS, Study
from conformance.targets import load
from conformance.workloads import Session
from reference.vocabulary import Dialect


def study_of(name: str) -> Study:
    return Study(load(f"variants.flawed.{name}"))


def leg(name: str, study: Study) -> None:
    study.search(next(leg for leg in LEGS if leg.name == name))


@pytest.mark.parametrize(
    ("name", "flawed", "broken"),
    [
        ("small scope, 2 requests", "only_first_row_stops", "finish/stop"),
        ("small scope, 3 requests", "static_batching", "refill/immediate"),
        ("scenarios", "shared_scratch", "run/independent"),
        ("scenarios", "exception_retried", "failure/surfaces"),
        ("corners", "preempts_every_8", "slot/held"),
        ("corners", "thousand_call_guard", "run/ends"),
        ("small scope, 4 requests", "half_empty_before_refill", "refill/immediate"),
        ("small scope, empty prompts", "empty_prompt_crashes", "run/ends"),
        ("small scope, shared prefixes", "replies_by_prefix", "row/reply"),
    ],
)
def test_a_leg_alone_finds_the_fault_that_it_is_for(name: str, flawed: str, broken: str) -> None:
    study = study_of(flawed)
    leg(name, study)
    assert broken in study.findings


def test_random_workloads_alone_find_faults_and_hypothesis_makes_them_small() -> None:
    for flawed, broken, most in (("stop_compared_by_identity", "finish/stop", 1), ("lifo_queue", "admission/fifo", 3)):
        study = study_of(flawed)
        search.random_workloads(study, 150)
        assert broken in study.findings
        assert len(study.findings[broken].session.workloads[-1].asks) <= most


@pytest.mark.parametrize(
    ("flawed", "broken"),
    [
        ("swap_remove_forward", "row/reply"),
        ("stop_never_checked", "finish/stop"),
        ("exception_swallowed", "failure/surfaces"),
    ],
)
def test_the_state_machine_alone_finds_faults_that_show_again_as_plain_workloads(flawed: str, broken: str) -> None:
    study = study_of(flawed)
    search.state_machine(study, 100)
    assert study.broken
    assert broken in study.findings or study.findings


def test_the_state_machine_interleaves_runs() -> None:
    study = study_of("shared_scratch")
    search.state_machine(study, 150)
    assert "run/independent" in study.findings


@pytest.mark.parametrize("name", ["threads_barrier", "asyncio_workers", "coroutines"])
def test_the_state_machine_drives_implementations_that_use_threads_and_event_loops(name: str) -> None:
    study = Study(load(f"variants.{name}"))
    search.state_machine(study, 20)
    assert not study.findings
    assert "state machine" in study.through


def test_every_implementation_has_a_machine_class_of_its_own() -> None:
    one, two = (machine_for(name, lambda: None, Dialect()) for name in ("a", "b"))
    assert one.__name__ != two.__name__
    assert one.TestCase is not two.TestCase


def test_scale_tells_growth_from_size() -> None:
    growing, bounded = study_of("quadratic_queue"), study_of("sixteen_slot_cap")
    search.scale(growing)
    search.scale(bounded)
    assert "lines of work per call" in growing.findings["scale/steady"].violation.observed
    assert "1000 slots" in bounded.findings["scale/steady"].violation.observed


def test_what_several_runs_bring_about_is_charged_to_the_sequence() -> None:
    study = study_of("state_between_runs")
    leg("small scope, 2 requests", study)
    finding = study.findings["run/independent"]
    assert len(finding.session.workloads) == 2
    assert set(study.findings) == {"run/independent"}
    assert "after the runs before it" in block(finding, "x")


def test_what_does_not_show_again_is_charged_all_the_same(tmp_path: Path) -> None:
    """The fault is kept outside the module, where no fresh copy of it forgets."""
    path = tmp_path / "remembers.py"
    path.write_text(
        "import sys\nfrom reference.generate import generate as right\n"
        "def generate(*arguments):\n    sys.remembered = getattr(sys, 'remembered', 0) + 1\n"
        "    return right(*arguments) if sys.remembered != 40 else {}\n"
    )
    study = Study(load(str(path)))
    leg("small scope, 2 requests", study)
    assert set(study.findings) == {"run/independent"}


def test_a_module_that_was_used_before_is_loaded_anew() -> None:
    one, two = (load("variants.flawed.state_between_runs") for _ in range(2))
    assert one.module is not two.module


def test_a_coincidence_is_told_from_a_cause_by_the_control_experiment() -> None:
    """A request that ends a token early fills its limit if the prompt counts; with an empty prompt it still does."""
    study = study_of("off_by_one_limit_fewer")
    for name in ("small scope, 2 requests", "small scope, 3 requests"):
        leg(name, study)
    assert "finish/length" in study.findings
    assert "prompt/inert" not in study.findings


def test_a_counterexample_is_made_small() -> None:
    study = study_of("preempts_every_8")
    leg("corners", study)
    workload = study.findings["slot/held"].session.workloads[-1]
    assert len(workload.asks) == 2
    assert workload.num_slots == 1


def test_the_report_fits_80_columns_but_for_the_workload() -> None:
    study = study_of("one_refill_a_step")
    leg("small scope, 3 requests", study)
    text = block(study.findings["refill/immediate"], "variants.flawed.one_refill_a_step")
    prose = text.partition("Workload.of(")[0]
    assert max(map(len, prose.splitlines())) <= 80
    assert "<- idle while 'r" in text


def test_a_session_is_judged_once_per_run() -> None:
    study = Study(load("variants.compacting"))
    workloads = list(scope.up_to(1, study.dialect))[:2]
    study.consider(Session(tuple(workloads)), "x")
    assert study.runs == 2
    assert not study.findings
