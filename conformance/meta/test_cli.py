"""The command line: what it says, and its exit status, when all is well and when it is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import variants
from conformance import cli
from conformance.grading.schema import decoded

HOME = Path(next(iter(variants.__path__)))
HONEST, FLAWED = HOME / "slot_array.py", HOME / "flawed" / "static_batching.py"
QUICK = ("--effort", "quick", "--seed", "1")


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli.main, list(map(str, arguments)), env={"COLUMNS": "80", "NO_COLOR": "1"})


def complaint(*arguments: object) -> str:
    """Invoke what cannot be done; return the last line of the complaint."""
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    return result.output.strip().split("\n")[-1]


def shell(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "conformance.cli", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(HOME.parent), "COLUMNS": "100"}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment, check=False, timeout=120)


# -- Help and misspellings ---------------------------------------------------------------------------


def test_help_names_every_command_and_imports_none() -> None:
    result = invoke("--help")
    assert result.exit_code == 0
    assert all(f"  {name} " in result.output for name in cli.COMMANDS)
    code = "import sys, conformance.cli as c; c.main(['--help'], standalone_mode=False); print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HOME.parent)
    assert not {"msgspec", "hypothesis", "pytest", "rich", "jinja2"} & set(told.stdout.split())


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(name: str) -> None:
    result = invoke(name, "--help")
    assert result.exit_code == 0
    assert f"Usage: main {name}" in result.output


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("grad", "x.py"), "Did you mean 'grade'?"),
        (("verify",), "Did you mean 'verify-grader'?"),
        (("zzz",), "The commands are check,"),
        (("grade", HONEST, "--jsn", "f"), "--json"),
        (("grade", HONEST, "--effort", "quik"), "'quick'"),
        (("recheck", HONEST, "--taget", "f"), "--target"),
        (("repro", HONEST, "--wrkload", "f"), "--workload"),
    ],
)
def test_a_misspelling_is_answered_with_what_was_meant(arguments: tuple[object, ...], hint: str) -> None:
    assert hint in complaint(*arguments)


# -- grade: what cannot be done is said before anything is graded --------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument"),
        (("gone.py",), "gone.py: there is no such file"),
        (("no.such.module",), "no.such.module: no module named"),
        (("exec:no-such-program",), "no program 'no-such-program' was found"),
        ((HONEST, "--dialect", "colour=red"), "unknown dialect axis 'colour'"),
        ((HONEST, "--dialect", "excluded"), "a dialect reads axis=value"),
        ((HONEST, "--require-sandbox", "magic"), "'magic' is none of"),
        ((HONEST, FLAWED, "--gradescope", "out.json"), "--gradescope is for one candidate, and there are 2"),
        ((HONEST, "--json", "nowhere/out.json"), "--json nowhere/out.json: there is no folder nowhere"),
        ((HONEST, "--html", "."), "--html .: it is not a regular file"),
        ((HONEST, "--json", "one", "--html", "./one"), "Two reports have the same file"),
        ((HONEST, "--jobs", "0"), "Invalid value for '--jobs'"),
        ((HONEST, "--seed", "x"), "Invalid value for '--seed'"),
    ],
)
def test_grade_says_in_one_line_what_is_wrong_with_its_arguments(
    arguments: tuple[object, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in complaint("grade", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_a_usage_error(tmp_path: Path) -> None:
    assert "there is no Python file in this folder" in complaint("grade", tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_no_report_can_hold_is_a_usage_error(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py")).write_text("")
    assert "this name is not UTF-8" in complaint("grade", tmp_path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read and write everything")
def test_what_may_not_be_read_or_written_is_a_usage_error(tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("")
    secret.chmod(0)
    assert "cannot be read" in complaint("grade", secret)
    tmp_path.chmod(0o500)
    assert "not writable" in complaint("grade", HONEST, "--json", tmp_path / "out.json")


# -- grade: what it does -----------------------------------------------------------------------------


def test_one_that_conforms_gives_0_and_all_reports(tmp_path: Path) -> None:
    files = {kind: tmp_path / kind for kind in ("json", "junit", "gradescope", "html")}
    options = [part for kind, path in files.items() for part in (f"--{kind}", path)]
    result = invoke("grade", HONEST, *QUICK, *options)
    assert result.exit_code == 0
    assert "CONFORMING, 6 of 6 points" in result.output
    verdict = decoded(files["json"].read_bytes())
    assert (verdict.verdict, verdict.seed) == ("conforming", 1)
    assert all(path.stat().st_size for path in files.values())


def test_one_that_does_not_conform_gives_1_and_says_why() -> None:
    result = invoke("grade", FLAWED, *QUICK)
    assert result.exit_code == 1
    assert "refill/immediate violated at call" in result.output
    assert "<- idle while" in result.output


def test_a_folder_is_graded_with_a_line_for_each(tmp_path: Path) -> None:
    for path in (HONEST, FLAWED):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "__init__.py").write_text("")
    result = invoke("grade", tmp_path, *QUICK, "--json", tmp_path / "all.json", "--jobs", 2)
    assert result.exit_code == 1
    assert "2 candidates: 1 conforming, 1 nonconforming" in result.output
    assert len(json.loads((tmp_path / "all.json").read_text())["verdicts"]) == 2


def test_exit_zero_is_for_pipelines() -> None:
    assert invoke("grade", FLAWED, *QUICK, "--exit-zero").exit_code == 0


def test_one_that_cannot_be_loaded_is_invalid_and_no_error_of_ours(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def generate(:\n")
    result = invoke("grade", broken, *QUICK)
    assert result.exit_code == 1
    assert "INVALID" in result.output
    assert "SyntaxError" in result.output


# -- recheck and repro -------------------------------------------------------------------------------


def test_recheck_confirms_a_verdict_and_finds_a_forged_one(tmp_path: Path) -> None:
    file = tmp_path / "verdict.json"
    invoke("grade", FLAWED, *QUICK, "--json", file)
    result = invoke("recheck", file)
    assert (result.exit_code, "confirmed: nonconforming" in result.output) == (0, True)
    file.write_text(file.read_text().replace('"verdict":"nonconforming"', '"verdict":"conforming"'))
    result = invoke("recheck", file)
    assert (result.exit_code, "the verdict is nonconforming, not conforming" in result.output) == (1, True)
    file.write_text("{}")
    assert "is no verdict" in complaint("recheck", file)


WORKLOAD = '{"requests":[["a",[1],1,[5]],["b",[2],2,[6,7]],["c",[3],1,[8]]],"num_slots":2,"stop_token":0}'
CODE = """Workload.of([
    ('a', [1], 1, [5]),
    ('b', [2], 2, [6, 7]),
    ('c', [3], 1, [8]),
], num_slots=2, stop_token=0)"""


@pytest.mark.parametrize("given", [WORKLOAD, CODE])
def test_repro_shows_every_call_and_what_was_due(given: str, tmp_path: Path) -> None:
    file = tmp_path / "workload"
    file.write_text(given)
    result = invoke("repro", FLAWED, "--workload", file)
    assert result.exit_code == 1
    for line in (
        "  call 2",
        "    slot  1  r1 [2, 6] -> 7",
        "    due was  r1 [2, 6]; r2 [3]",
        "refill/immediate violated",
    ):
        assert line in result.output
    assert "nothing is violated" in invoke("repro", HONEST, "--workload", file).output


def test_repro_takes_a_verdict(tmp_path: Path) -> None:
    file = tmp_path / "verdict.json"
    invoke("grade", FLAWED, *QUICK, "--json", file)
    assert "refill/immediate violated" in invoke("repro", FLAWED, "--workload", file).output
    assert "no counterexample of output/own" in complaint(
        "repro", FLAWED, "--workload", file, "--invariant", "output/own"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("gone.json", "No such file"),
        ("{", "truncated"),
        ('{"requests":[]}', "num_slots"),
        ('{"requests":[["a",[1],1,[5]],["b",[1],1,[6]]],"num_slots":1,"stop_token":0}', "disagree"),
    ],
)
def test_repro_says_what_is_no_workload(given: str, said: str) -> None:
    assert said in complaint("repro", HONEST, "--workload", given)


# -- check -------------------------------------------------------------------------------------------


def test_check_runs_the_installed_suite_from_any_folder_past_packages_of_the_same_name(tmp_path: Path) -> None:
    for name in ("reference", "conformance"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('the wrong package')\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (tmp_path / "mine.py").write_bytes(HONEST.read_bytes())
    right = shell("check", "mine.py", "--collect-only", "-q", cwd=tmp_path)
    assert (right.returncode, "[refill/immediate]" in right.stdout) == (0, True), right.stdout + right.stderr
    assert "meta/" not in right.stdout
    (tmp_path / "mine.py").write_bytes(FLAWED.read_bytes())
    wrong = shell("check", "mine.py", "-k", "refill/immediate", "-x", "-q", cwd=tmp_path)
    assert (wrong.returncode, "refill/immediate violated" in wrong.stdout) == (1, True), wrong.stdout + wrong.stderr


def test_check_gives_4_for_a_target_that_cannot_be_used(tmp_path: Path) -> None:
    result = shell("check", "gone.py", cwd=tmp_path)
    assert result.returncode == 4
    assert "gone.py: there is no such file" in result.stderr
    assert "Traceback" not in result.stderr


def test_verify_grader_prints_what_came_of_an_attack() -> None:
    from conformance.grading.zoo import discover

    result = invoke("verify-grader", discover()[0].name)
    assert result.exit_code == 0, result.output
    assert "1 attacks, 1 contained" in result.output
    assert "there is no attack 'nothing'" in complaint("verify-grader", "nothing")
