"""Grading a file of tests: what counts as a rejection, what does not, and what a hostile file can do."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from conformance import cli
from conformance.catalogue import CATALOGUE
from conformance.grading import sandbox
from conformance.grading.own_tests import command, examine
from conformance.grading.own_tests.encounter import Outcome
from conformance.grading.own_tests.grade_tests import grade_tests
from conformance.grading.own_tests.lineup import Member, lineup, mutants
from conformance.grading.own_tests.verdict import Faced, GradedTests, conclusion, share
from conformance.meta.mutation import Changed, modules
from conformance.meta.own_tests import FEW, FIFO, PASSES, SMALL, chosen, graded_in, invoke, outcomes
from conformance.study import LEGS, Study
from reference.vocabulary import Dialect

GOOD_MISSES = {"short_prompts_jump_the_queue", "recursion_per_step", "thousand_call_guard", "preempts_every_8"}
SAMPLES = Path(examine.__file__).with_name("samples")
Graded = Callable[..., GradedTests]


@pytest.fixture
def graded(tmp_path: Path) -> Graded:
    return graded_in(tmp_path)


# -- The line-up ---------------------------------------------------------------------------------------


def test_the_line_up_is_of_the_stated_dialect(tmp_path: Path) -> None:
    everyone = lineup(Dialect(), tmp_path)
    roles = [one.role for one in everyone]
    assert (roles.count("right"), roles.count("flawed"), roles.count("should")) == (12, 91, 14)
    assert "variants.padded" not in [one.name for one in everyone]
    padded = {one.name for one in lineup(Dialect(batch="padded"), tmp_path) if one.role == "right"}
    assert padded == {"reference.generate", "variants.padded", "variants.padded_repeat"}
    assert not [one for one in everyone if one.role == "flawed" and "MUST" not in levels(one)]
    assert not [one for one in everyone if one.role == "should" and "MUST" in levels(one)]


def levels(member: Member) -> set[str]:
    return {CATALOGUE[name].level for name in member.breaks}


def test_every_flawed_variant_of_the_core_is_in_some_line_up(tmp_path: Path) -> None:
    dialects = (Dialect(), Dialect(batch="padded"), Dialect(stop_token="excluded"))
    named = {one.name for dialect in dialects for one in lineup(dialect, tmp_path)}
    assert {name for name in named if name.startswith("variants.flawed.")} == set(modules("variants/flawed"))


@pytest.mark.parametrize("dialect", [Dialect("total", "excluded"), Dialect(batch="padded")], ids=str)
def test_a_mutant_that_stands_in_breaks_a_promise_in_that_dialect(dialect: Dialect, tmp_path: Path) -> None:
    """Every fifth here, and another fifth in each dialect; all were seen to, once."""
    standing = list(mutants(dialect, tmp_path))
    assert len(standing) == (35 if dialect.batch == "compact" else 38)
    for member in standing[dialect.batch == "padded" :: 5]:
        study = Study(Changed(member.name, member.path.read_text(), dialect))
        for leg in (LEGS[0], LEGS[2], LEGS[3]):
            study.search(leg)
            if any(CATALOGUE[name].level == "MUST" for name in study.findings):
                break
        else:
            pytest.fail(f"{member.name} breaks nothing")


# -- Three samples ---------------------------------------------------------------------------------------


def test_good_tests_accept_all_right_ones_and_reject_nearly_all_flawed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every right one, and every second flawed one; the page has the figures for all."""
    everyone = [one for one in lineup(Dialect(), tmp_path) if one.role != "should"]
    names = tuple(one.name for number, one in enumerate(everyone) if one.role == "right" or not number % 2)
    monkeypatch.setattr(command, "lineup", chosen((*names, "variants.flawed.live_buffers")))
    result = invoke(SAMPLES / "good.py", "--seed", 1, "--json", tmp_path / "out.json", "--min-score", 0.9)
    assert result.exit_code == 0, result.output
    verdict = msgspec.json.decode((tmp_path / "out.json").read_bytes(), type=GradedTests)
    missed = {name.rpartition(".")[2] for row in verdict.invariants if row.level == "MUST" for name in row.missed}
    assert missed == GOOD_MISSES
    assert (verdict.verdict, verdict.must.rejected, verdict.must.flawed) == ("accepts", 46 - len(missed), 46)
    assert verdict.score == round(verdict.must.rejected / 46, 4)
    assert (verdict.should.rejected, verdict.should.flawed) == (0, 1)
    assert verdict.complete
    assert len(verdict.implementations) == 12 + 46 + 1
    for name in missed:
        assert name in result.output
    assert f"SCORE {verdict.score:.2f}" in result.output
    assert "A request, once admitted, is in every call until it finishes" in " ".join(result.output.split())
    assert max(map(len, result.stdout.splitlines())) < 80


def test_weak_tests_accept_all_right_ones_and_reject_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "lineup", chosen(SMALL))
    result = invoke(SAMPLES / "weak.py", "--seed", 1)
    assert result.exit_code == 0
    assert "it accepts all 3 right implementations, and rejects 1 of 3 flawed ones" in " ".join(result.output.split())
    assert invoke(SAMPLES / "weak.py", "--min-score", 0.5).exit_code == 1


def test_wrong_tests_get_nothing_and_are_told_which_and_by_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "lineup", chosen(SMALL))
    result = invoke(SAMPLES / "wrong.py", "--seed", 1)
    assert result.exit_code == 1
    assert "SCORE 0" in result.output
    said = " ".join(result.output.split())
    assert "it rejects 1 of 3 right implementations" in said
    assert "variants.compacting: rejected by wrong.py::test_rows_stand_in_the_order_of_slots AssertionError" in said
    assert "Missed" not in result.output


def test_the_example_of_the_page_is_accepted_and_rejects_what_it_says(graded: Graded) -> None:
    page = Path(examine.__file__).parents[3] / "docs" / "grading-tests.md"
    example = re.search(r"```python\n(from solution.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    verdict = graded(example[1], (*FEW[:2], "variants.flawed.refill_one_step_late"))
    assert outcomes(verdict) == {"generate": "passed", "lanes": "passed", "refill_one_step_late": "failed"}


# -- What counts ---------------------------------------------------------------------------------------


def test_a_failed_test_is_a_rejection_and_says_which_and_why(graded: Graded) -> None:
    verdict = graded("def test_one():\n    pass\ndef test_two():\n    assert 1 == 2, 'odd'\n")
    assert set(outcomes(verdict).values()) == {"failed"}
    assert verdict.score == 0
    assert {(one.test, one.passed) for one in verdict.implementations} == {("tests.py::test_two", 1)}
    assert all(one.why.startswith("AssertionError: odd") for one in verdict.implementations)
    assert verdict.must.rejected == verdict.must.flawed == 1


def test_a_time_out_is_a_rejection(graded: Graded) -> None:
    verdict = graded(FIFO.format("while first(3) != [0, 1, 2]: pass"), seconds=3)
    assert outcomes(verdict) == {"generate": "passed", "lanes": "passed", "lifo_queue": "timeout"}
    assert verdict.score == 1
    assert next(one.test for one in verdict.implementations if one.outcome == "timeout") == "tests.py::test_fifo"


@pytest.mark.parametrize(
    "crash",
    [
        "os._exit(0)",
        "os.kill(os.getpid(), 9)",
        "os.kill(os.getppid(), 9), time.sleep(60)",
        "pytest.exit('over')",
        "raise KeyboardInterrupt",
    ],
)
def test_a_crash_is_no_rejection(graded: Graded, crash: str) -> None:
    verdict = graded(f"import os, pytest, time\n{FIFO.format(f'if first(3) != [0, 1, 2]: {crash}')}")
    assert outcomes(verdict) == {"generate": "passed", "lanes": "passed", "lifo_queue": "crashed"}
    assert (verdict.verdict, verdict.score, verdict.must.rejected) == ("accepts", 0, 0)


def test_an_error_of_collecting_is_no_rejection(graded: Graded) -> None:
    verdict = graded(FIFO.format("pass") + "assert first(3) == [0, 1, 2]\n")
    assert outcomes(verdict) == {"generate": "passed", "lanes": "passed", "lifo_queue": "invalid"}
    assert verdict.score == 0


def test_an_implementation_that_never_returns_is_rejected_by_time_out(graded: Graded, tmp_path: Path) -> None:
    hangs = Member("hangs", tmp_path / "hangs.py", "flawed", ("run/ends",))
    hangs.path.write_text("def generate(*_):\n    while True:\n        pass\n")
    (tmp_path / "tests.py").write_text(FIFO.format("first(3)"))
    verdict = grade_tests(tmp_path / "tests.py", seed=1, choose=lambda dialect, folder: [hangs])
    assert outcomes(verdict) == {"hangs": "timeout"}
    assert "neither called the model nor ended" in verdict.implementations[0].why


def test_an_error_in_a_fixture_is_a_failure_of_the_test_that_asked_for_it(graded: Graded) -> None:
    source = (
        "import pytest\n@pytest.fixture\ndef broken():\n    raise ValueError('no')\ndef test_it(broken):\n    pass\n"
    )
    assert set(outcomes(graded(source)).values()) == {"failed"}


def test_hypothesis_can_be_used_and_tries_the_same_each_time(graded: Graded) -> None:
    source = FIFO.format("pass") + (
        "from hypothesis import given, settings, strategies as st\nseen = []\n"
        "@settings(max_examples=20)\n@given(st.integers(0, 5))\ndef test_some(count):\n"
        "    seen.append(count)\n    assert first(count) == list(range(count))\n"
        "def test_tell():\n    assert False, str(seen)\n"
    )
    told = {one.name: one.why for one in graded(source).implementations}
    assert len(told) == 3
    assert "AssertionError: [" in told["reference.generate"]
    assert told["reference.generate"] == told["variants.lanes"]
    assert told["variants.flawed.lifo_queue"] != told["variants.lanes"]


def test_a_module_of_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "lineup", chosen(FEW))
    path = tmp_path / "tests.py"
    path.write_text(FIFO.format("assert first(3) == [0, 1, 2]").replace("from solution", "from my.answer"))
    result = invoke(path, "--module", "my.answer")
    assert (result.exit_code, result.output.count("SCORE 1.00")) == (0, 1)


def test_the_dialect_that_the_tests_state(graded: Graded) -> None:
    verdict = graded('DIALECT = {"batch": "padded"}\n' + PASSES, ("variants.padded", "variants.lanes"))
    assert outcomes(verdict) == {"padded": "passed"}
    assert verdict.dialect["batch"] == "padded"


# -- Files that cannot be graded ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def test_x(:\n", "line 1: invalid syntax"),
        ("\0", "null bytes"),
        ("X = 1\n", "there is no test in it"),
        ("import nothing_such\n" + PASSES, "ModuleNotFoundError: No module named 'nothing_such'"),
        ("from solution import Engine\n" + PASSES, "ImportError: cannot import name 'Engine' from 'solution'"),
        ("import pytest\n@pytest.mark.skip\n" + PASSES, "every test in it is skipped"),
        ("import sys; sys.exit(0)\n", "the tests were ended by an error in pytest: SystemExit"),
        ("import os; os._exit(0)\n", "the tests' process ended: it exited with status 0"),
        ("import ctypes\ndef test_x(): ctypes.string_at(0)\n", "it was killed by signal 11"),
        ("DIALECT = {'colour': 'red'}\n" + PASSES, "DIALECT: unknown dialect axis 'colour'"),
        ("DIALECT = make()\n" + PASSES, "line 1: DIALECT should be a plain dict of texts"),
    ],
)
def test_what_cannot_be_graded_is_invalid_and_one_line_says_why(graded: Graded, source: str, said: str) -> None:
    verdict = graded(source, FEW[:1])
    assert verdict.verdict == "invalid"
    assert said in verdict.reason
    assert "\n" not in verdict.reason
    assert verdict.score == 0


def test_tests_that_always_time_out_are_not_tried_on_all(graded: Graded) -> None:
    verdict = graded(
        "def test_x():\n    while True: pass\n", tuple(one for one in modules("variants/flawed"))[:20] + FEW, 0.3
    )
    assert verdict.verdict == "rejects-right"
    assert not verdict.complete
    assert 4 <= len(verdict.implementations) <= 7
    assert "timed out, and the others were spared" in verdict.reason


# -- What the encounters add up to --------------------------------------------------------------------------


def one(name: str, role: str, outcome: str) -> Faced:
    told = {"test": "t", "why": "w", "passed": 1, "seconds": 0.1}
    return msgspec.convert({"name": name, "role": role, "breaks": [], "outcome": outcome, **told}, Faced)


@pytest.mark.parametrize(
    ("kinds", "verdict"),
    [
        (("passed", "passed"), "accepts"),
        (("passed", "failed"), "rejects-right"),
        (("timeout", "passed"), "rejects-right"),
        (("failed", "crashed"), "invalid"),
        (("passed", "invalid"), "invalid"),
    ],
)
def test_the_right_ones_decide(kinds: tuple[str, ...], verdict: str) -> None:
    found = [one(f"r{number}", "right", kind) for number, kind in enumerate(kinds)]
    assert conclusion([*found, one("f", "flawed", "failed")], "")[0] == verdict


def test_only_failures_and_time_outs_are_counted() -> None:
    kinds = ("passed", "failed", "timeout", "crashed", "invalid")
    counted = share([one(kind, "flawed", kind) for kind in kinds] + [one("r", "right", "failed")], "flawed")
    assert (counted.rejected, counted.flawed) == (2, 5)
    assert Outcome("passed").seconds == 0


# -- The command line ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument 'TESTS'"),
        (("gone.py",), "gone.py: there is no such file."),
        ((".",), ".: one Python file of tests is wanted."),
        (("tests.py", "--module", "a b"), "--module a b: not the name of a module."),
        (("tests.py", "--module", "json"), "there is another module 'json' that the tests may need."),
        (("tests.py", "--json", "nowhere/out"), "--json nowhere/out: there is no folder nowhere."),
        (("tests.py", "--min-score", "2"), "'--min-score'"),
        (("tests.py", "--seconds", "0"), "'--seconds'"),
        (("tests.py", "--require-sandbox", "magic"), "'magic' is none of"),
    ],
)
def test_wrong_arguments_get_one_clear_line(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests.py").write_text(PASSES)
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert said in result.output.strip().split("\n")[-1]
    assert isinstance(result.exception, SystemExit)


def test_an_implementation_of_ours_that_does_not_load_is_our_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Member("variants.broken", tmp_path / "broken.py", "right")
    broken.path.write_text("raise OSError('gone')\n")
    monkeypatch.setattr(command, "lineup", lambda dialect, folder: [broken])
    (tmp_path / "tests.py").write_text(PASSES)
    result = invoke(tmp_path / "tests.py")
    assert result.exit_code == 2
    assert "variants.broken cannot be loaded: OSError: gone" in result.output


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="needs /proc")
def test_an_interruption_ends_everything_and_gives_130(tmp_path: Path) -> None:
    (tmp_path / "tests.py").write_text("def test_x():\n    while True: pass\n")
    home = str(Path(cli.__file__).parents[1])
    line = [
        sys.executable,
        "-P",
        "-m",
        "conformance.cli",
        "grade-tests",
        "tests.py",
        "--seconds",
        "300",
        "--json",
        "out",
    ]
    running = subprocess.Popen(line, cwd=tmp_path, env={**os.environ, "PYTHONPATH": home}, stderr=subprocess.PIPE)
    children = Path(f"/proc/{running.pid}/task")
    deadline = time.monotonic() + 60
    while not any(re.search(r"\d", file.read_text()) for file in children.glob("*/children")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert b"Interrupted; nothing was written." in said
    assert sorted(os.listdir(tmp_path)) == ["tests.py"]
    for process in Path("/proc").glob("[0-9]*/environ"):
        with pytest.MonkeyPatch.context():
            try:
                assert f"{sandbox.MARK}={running.pid}".encode() not in process.read_bytes().split(b"\0")
            except OSError:
                continue
