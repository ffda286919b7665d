"""The follow-up questions, graded over the wire: right ones conform, wrong ones are named, hostile ones hurt no one."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.grading import gradescope, html, junit
from conformance.grading.grade_one import grade
from conformance.grading.isolated import IsolatedImplementation
from conformance.grading.profile_courses import COURSES, EVERY
from conformance.grading.profile_replay import examples, shown
from conformance.grading.recheck import differences
from conformance.grading.render_text import line, screen
from conformance.grading.schema import Verdict, decoded, encoded
from conformance.meta.test_report import RIGHT

VARIANTS = Path(__file__).resolve().parents[2] / "variants"
HONEST = {"engine": "engine_slots", "cached": "cached_token_budget", "fair": "fair_ring"}
FLAWED = {
    "engine": ("engine_abort_without_ending", "engine_failure_swallowed", "engine_waves", "engine_shared_registry"),
    "cached": ("cached_no_reset", "cached_neighbours_line", "cached_last_token_twice"),
    "fair": ("fair_never_yields", "fair_resumes_from_prompt", "fair_quantum_plus_one"),
}
ENGINE = (VARIANTS / "engine_slots.py").read_text()


def quick(target: str, **more: object) -> Verdict:
    return grade(VARIANTS / f"{target}.py", effort="quick", seed=1, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("profile", HONEST)
def test_a_right_answer_conforms(profile: str) -> None:
    verdict = quick(HONEST[profile], profiles=[profile])
    assert (verdict.verdict, verdict.score.ratio) == ("conforming", 1.0), verdict.reason
    (report,) = verdict.profiles
    assert report.profile == profile
    assert {p.status for p in report.invariants if p.level == "MUST"} == {"holds"}
    assert all(bound.exhausted for bound in report.bounds)
    assert report.runs > 100
    assert [line_.id for line_ in verdict.rubric] == [profile]


@pytest.mark.parametrize(("profile", "name"), [(p, name) for p, names in FLAWED.items() for name in names])
def test_a_wrong_answer_is_named(profile: str, name: str) -> None:
    verdict = quick(f"flawed/{name}", profiles=[profile])
    assert verdict.verdict in ("nonconforming", "timeout")
    broken = {p.name for report in verdict.profiles for p in report.invariants if p.status == "violated"}
    assert broken & set(importlib.import_module(f"variants.flawed.{name}").BREAKS)
    assert verdict.score.earned == 0


def test_what_is_found_can_be_replayed_and_read(tmp_path: Path) -> None:
    verdict = quick("flawed/engine_abort_without_ending", profiles=["engine"])
    assert decoded(encoded(verdict)) == verdict
    found = list(examples(verdict))
    assert found
    report, name, example = found[0]
    with IsolatedImplementation(str(VARIANTS / "flawed" / "engine_abort_without_ending.py")) as held:
        assert shown(held, report, name, example)
    with IsolatedImplementation(str(VARIANTS / "engine_slots.py")) as held:
        assert not shown(held, report, name, example)
    assert list(differences(verdict, verdict.candidate.target)) == []
    assert f"{name} violated" in screen(verdict)
    assert name in line(verdict)
    assert f'type="{name}"' in junit.render([verdict])
    assert name in gradescope.render(verdict)
    with (tmp_path / "page.html").open("w") as file:
        html.write([verdict], file)
    assert f"{name} violated" in (tmp_path / "page.html").read_text()
    (tmp_path / "verdict.json").write_bytes(encoded(verdict))
    again = CliRunner().invoke(main, ["repro", verdict.candidate.target, "--workload", str(tmp_path / "verdict.json")])
    assert again.exit_code == 1
    assert f"{name} violated" in again.output


def test_a_forged_profile_is_noticed() -> None:
    verdict = quick("flawed/engine_waves", profiles=["engine"])
    for promise in verdict.profiles[0].invariants:
        promise.status, promise.example = "holds", None
    verdict.profiles[0].verdict = verdict.verdict = "conforming"
    assert any("profile engine" in problem for problem in differences(verdict, verdict.candidate.target))


def test_a_helper_that_is_called_engine_is_passed_over() -> None:
    helper = RIGHT + "\nclass Engine:\n    def __init__(self, slots): self.slots = slots\n    def run(self): ...\n"
    verdict = grade(source=helper, effort="quick", seed=1)
    assert verdict.verdict == "conforming"
    assert [(r.profile, r.verdict) for r in verdict.profiles] == [("engine", "skipped")]
    assert "has no add_request" in verdict.profiles[0].reason
    assert verdict.score == grade(source=RIGHT, effort="quick", seed=1).score
    assert "skipped   engine: its Engine has no add_request" in screen(verdict)


def test_a_profile_that_was_asked_for_and_is_not_there_is_invalid() -> None:
    verdict = grade(source=RIGHT, effort="quick", seed=1, profiles=["engine"])
    assert (verdict.verdict, verdict.score.ratio) == ("invalid", 0.0)
    assert "engine" in verdict.reason


def test_another_reading_of_the_question_is_legal_here_too() -> None:
    """An engine that leaves the stop token out, and does not say so."""
    source = (VARIANTS / "engine_excluded.py").read_text().replace("DIALECT =", "CHOSEN =")
    assert "DIALECT" not in source
    verdict = grade(source=source, effort="quick", seed=1, profiles=["engine"])
    assert verdict.verdict == "conforming", verdict.reason
    assert verdict.profiles[0].dialect["stop_token"] == "excluded"


ATTACKS = {
    "never returns": ("    def step(self):\n        while True: pass\n", {"timeout"}),
    "leaves": ("    def step(self):\n        import os; os._exit(0)\n", {"crashed"}),
    "floods": ("    def step(self):\n        return ['x' * 10**6] * 100\n", {"nonconforming"}),
    "equals everything": (
        "    def step(self):\n        class E:\n            __eq__ = lambda *a: True\n"
        "            request_id = finish_reason = token = property(lambda self: E())\n        return [E()]\n",
        {"nonconforming"},
    ),
    "calls from elsewhere": (
        "    def has_unfinished_requests(self):\n        self._model.next_tokens([[1]])\n        return False\n",
        {"nonconforming", "crashed"},
    ),
    "speaks out of turn": (
        "    def step(self):\n        import os\n        for fd in range(3, 30):\n"
        '            try: os.write(fd, b\'["stepped",0,[],""]\\n\')\n'
        "            except OSError: pass\n        return []\n",
        {"nonconforming", "crashed", "timeout"},
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_engine_costs_itself_only(attack: str) -> None:
    method, allowed = ATTACKS[attack]
    verdict = grade(
        source=f"{ENGINE}\n\nclass Hostile(Engine):\n{method}\nEngine = Hostile\n",
        effort="quick",
        seed=1,
        profiles=["engine"],
    )
    assert verdict.verdict in allowed, verdict.reason
    assert verdict.score.earned == 0


def test_the_plans_are_what_the_efforts_say() -> None:
    with IsolatedImplementation(str(VARIANTS / "engine_slots.py")) as held:
        sizes = {effort: len(COURSES["engine"](held, held.dialect).plan(effort, 0)) for effort in EVERY}
    assert sizes == {"quick": 2, "default": 2, "thorough": 8}
