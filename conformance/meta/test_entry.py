"""The pytest entry, as a user meets it: in a process of its own, from other folders, with mistakes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUITE = str(ROOT / "conformance" / "test_invariants.py")
RIGHT = """
def generate(model, requests, num_slots, stop_token):
    out, queue, running = {r.request_id: [] for r in requests}, [r for r in requests if r.max_tokens > 0], []
    while queue or running:
        while queue and len(running) < num_slots:
            running.append(queue.pop(0))
        tokens = model.next_tokens([r.prompt + out[r.request_id] for r in running])
        for r, token in zip(list(running), tokens, strict=True):
            out[r.request_id].append(token)
            if token == stop_token or len(out[r.request_id]) == r.max_tokens:
                running.remove(r)
    return out
"""
LATE = RIGHT.replace(
    "while queue and len(running) < num_slots:",
    "if not running:\n            while queue and len(running) < num_slots:",
)
LATE = LATE.replace("            running.append(queue.pop(0))", "                running.append(queue.pop(0))")


def run(*options: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV"))} | {"COLUMNS": "80"}
    command = [sys.executable, "-m", "pytest", SUITE, "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, env=environment, check=False)


def written(folder: Path, name: str, source: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return str(path)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("variants.nowhere", "no module named 'variants.nowhere' was found"),
        ("nowhere.py", "there is no such file"),
        ("json", "no callable 'generate' in"),
        ("variants.padded:serve", "no callable 'serve' in"),
    ],
)
def test_a_target_that_cannot_be_used_gives_one_line_and_status_4(target: str, said: str) -> None:
    done = run("--impl", target)
    errors = [line for line in done.stderr.splitlines() if line.strip()]
    assert done.returncode == 4
    assert len(errors) == 1
    assert said in errors[0]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def generate(:\n", "SyntaxError"),
        ("raise SystemExit(0)\n", "SystemExit"),
        ("import no_such_thing\n", "no_such_thing"),
        ("DIALECT = {'stop': 'included'}\ndef generate(): ...\n", "unknown dialect axis 'stop'"),
        ("DIALECT = {'batch': 'round'}\ndef generate(): ...\n", "should be one of compact, padded"),
        ("DIALECT = 7\ndef generate(): ...\n", "unknown dialect axis"),
    ],
)
def test_a_file_that_cannot_be_loaded_gives_one_line_and_status_4(tmp_path: Path, source: str, said: str) -> None:
    done = run("--impl", written(tmp_path, "candidate.py", source))
    errors = [line for line in done.stderr.splitlines() if line.strip()]
    assert done.returncode == 4
    assert len(errors) == 1
    assert said in errors[0]


def test_a_wrong_dialect_on_the_command_line_gives_one_line_and_status_4() -> None:
    done = run("--dialect", "stop_token=perhaps")
    assert done.returncode == 4
    assert "should be one of included, excluded" in done.stderr


def test_one_promise_can_be_selected_and_its_failure_is_a_block_that_says_all(tmp_path: Path) -> None:
    done = run("--impl", written(tmp_path, "late.py", LATE), "-k", "refill/immediate")
    assert done.returncode == 1
    assert re.search(r"1 failed, \d+ deselected", done.stdout)
    for part in (
        "refill/immediate violated at call",
        "expected",
        "observed",
        "slots",
        "docs/invariants.md#refill-immediate",
    ):
        assert part in done.stdout
    assert "Workload.of([" in done.stdout
    assert "Traceback" not in done.stdout


def test_the_printed_workload_can_be_pasted_and_breaks_the_same_promise(tmp_path: Path) -> None:
    from conformance.catalogue import judge
    from conformance.targets import load
    from conformance.workloads import Session, Workload

    path = written(tmp_path, "late.py", LATE)
    printed = run("--impl", path, "-k", "refill/immediate").stdout
    code = re.search(r"Workload\.of\(\[.*?\], num_slots=.*?\)\n", printed, re.DOTALL)
    assert code is not None
    workload = eval(code.group(0), {"Workload": Workload})
    implementation = load(path)
    judgement = judge(implementation.run(Session((workload,)))[0], implementation.dialect)
    assert "refill/immediate" in judgement.violations


def test_with_x_the_first_fault_comes_first(tmp_path: Path) -> None:
    done = run("--impl", written(tmp_path, "late.py", LATE), "-x")
    assert done.returncode == 1
    assert re.search(r"^1 failed in", done.stdout, re.MULTILINE)
    assert "refill/immediate violated" in done.stdout


def test_files_of_one_name_do_not_collide_and_shadow_nothing_of_ours(tmp_path: Path) -> None:
    from conformance.targets import load

    one, two = (load(written(tmp_path, f"{name}/workloads.py", source)) for name, source in (("a", LATE), ("b", RIGHT)))
    assert one.module.__name__ != two.module.__name__
    written(tmp_path, "b/conformance/__init__.py", "raise ImportError('not this one')")
    done = run("--impl", written(tmp_path, "b/history.py", LATE), "-k", "refill/immediate", cwd=tmp_path / "b")
    assert done.returncode == 1
    assert "refill/immediate violated" in done.stdout


def test_a_users_own_folder_named_reference_does_no_harm(tmp_path: Path) -> None:
    written(tmp_path, "reference/__init__.py", "raise ImportError('not this one')")
    written(tmp_path, "my_package/__init__.py", "")
    written(tmp_path, "my_package/engine.py", LATE)
    done = run("--impl", "my_package.engine", "-k", "refill/immediate", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "refill/immediate violated" in done.stdout


def test_a_function_of_another_name_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "named.py", LATE.replace("def generate", "def serve"))
    assert "refill/immediate violated" in run("--impl", f"{path}:serve", "-k", "refill/immediate").stdout


def test_a_broken_should_is_reported_and_can_be_made_to_fail(tmp_path: Path) -> None:
    path = written(tmp_path, "right.py", RIGHT)  # it does not refuse bad arguments
    reported = run("--impl", path, "-k", "arguments/rejected")
    assert reported.returncode == 0
    assert "1 xfailed" in reported.stdout
    assert "arguments/rejected violated" in reported.stdout
    assert run("--impl", path, "-k", "arguments/rejected", "--should", "fail").returncode == 1


def test_an_empty_selection_is_no_pass() -> None:
    assert run("-k", "no/such-promise").returncode == 5
