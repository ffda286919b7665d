"""Grading: what a hostile candidate, or an interruption, can do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from conformance.grading import grade, referee_watch
from conformance.grading.executors import handing
from conformance.grading.fingerprint import fingerprint
from conformance.grading.pool import Task, failed, grade_all
from conformance.grading.referee_watch import CandidateEnded, Tally
from conformance.meta.test_grading_support import (
    BROKEN,
    CHATTERS,
    DIES,
    EQUAL,
    EXITS,
    FLAWED,
    FORGES,
    HOME,
    HONEST,
    LATE,
    LOOPS,
    RIGHT,
    WAVERS,
    InProcess,
    attacked,
    charged,
    quickly,
)
from conformance.workloads import Session

# -- Hostile candidates, in the sandbox --------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "verdict", "charge"),
    [
        (EXITS, "nonconforming", "run/ends"),
        (DIES, "crashed", "run/ends"),
        (LOOPS, "timeout", "run/ends"),
        (BROKEN, "invalid", ""),
        (EQUAL, "nonconforming", "run/ends"),
        (FORGES, "nonconforming", "run/ends"),
        (LATE, "nonconforming", "run/independent"),
        (WAVERS, "nonconforming", ""),
        (CHATTERS, "nonconforming", "run/ends"),
    ],
    ids=["exits", "dies", "loops", "broken", "equal", "forges", "late", "wavers", "chatters"],
)
def test_a_hostile_candidate_does_not_pass(source: str, verdict: str, charge: str) -> None:
    start = time.monotonic()
    found = attacked(source)
    assert found.verdict == verdict
    assert charge in charged(found) | {""} or (source == CHATTERS and "run/independent" in charged(found))
    assert verdict == "invalid" or charged(found)
    assert found.score.ratio < 1
    assert time.monotonic() - start < 25


def test_an_honest_candidate_conforms_in_the_sandbox() -> None:
    verdict = grade(HONEST[0].with_name("slot_array.py"), effort="quick", seed=1)
    assert verdict.verdict == "conforming"
    assert verdict.sandbox.layers
    assert verdict.candidate.sha256


def test_a_fault_that_comes_late_is_shown_by_the_shortest_sequence_of_runs() -> None:
    example = next(r.counterexample for r in attacked(LATE).invariants if r.name == "run/independent")
    assert example is not None
    assert 100 < len(example.session.workloads) <= 151


def test_a_bad_declaration_is_invalid() -> None:
    verdict = grade(f"{RIGHT.replace('def right(', 'def generate(')}\nDIALECT = {{'colour': 'red'}}\n", effort="quick")
    assert (verdict.verdict, "colour" in verdict.reason) == ("invalid", True)


def test_an_error_of_the_referee_is_not_the_candidates() -> None:
    class Ours(InProcess):
        def run(self, session: Session) -> Any:
            raise ZeroDivisionError("ours")

    verdict = grade(HONEST[0], effort="quick", factory=Ours)
    assert (verdict.verdict, "ZeroDivisionError" in verdict.reason) == ("referee-error", True)


def test_one_run_that_stands_still_for_a_while_condemns_nobody() -> None:
    once: list[int] = []

    class Hiccup(InProcess):
        last_end: Any = None

        def run(self, session: Session) -> Any:
            runs = super().run(session)
            self.last_end = None
            if not once and len(session.workloads) > 3:
                once.append(1)
                self.last_end = type("End", (), {"kind": "timeout", "why": "it stood still"})
            return runs

    assert quickly(HONEST[0], factory=Hiccup).verdict == "conforming"
    assert once


def test_one_that_cannot_come_to_an_end_in_time_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referee_watch, "SLOW_SECONDS", 0.3)
    sleeps = f"{RIGHT}\nimport time\ndef generate(*given):\n    time.sleep(0.15)\n    return right(*given)\n"
    verdict = quickly(sleeps)
    assert (verdict.verdict, verdict.runs < 20) == ("timeout", True)
    assert "are too few to come to an end in 30" in verdict.reason


@pytest.mark.parametrize(("made", "enough"), [(110, True), (109, False)])
def test_the_pace_that_is_enough(made: int, enough: bool) -> None:
    tally = Tally(120)
    tally.spent, tally.made = 11.0, made
    with nullcontext() if enough else pytest.raises(CandidateEnded, match="109 runs in 11 seconds"):
        tally.check()


# -- Many at once ------------------------------------------------------------------------------------


def test_many_are_graded_in_processes_of_their_own(tmp_path: Path) -> None:
    files = [HOME / "slot_array.py", FLAWED / "static_batching.py", tmp_path / "gone.py"]
    tasks = [(Task(index, str(file), "quick", 1), fingerprint(str(file))) for index, file in enumerate(files)]
    with handing(None, 2, len(tasks)) as hand:
        found = {task.index: verdict.verdict for task, verdict in grade_all(tasks, hand)}
    assert found == {0: "conforming", 1: "nonconforming", 2: "referee-error"}


def test_a_candidate_that_the_referee_fails_on_is_an_error_of_ours() -> None:
    assert failed(Task(0, "x.py", "quick", 1), "the referee process ended").verdict == "referee-error"


def processes(mark: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                line = (entry / "cmdline").read_bytes().decode(errors="replace")
                found += [line] if mark in line else []
        except OSError:
            continue
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize(
    ("number", "copies"), [(signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGTERM, 3), (signal.SIGKILL, 3)]
)
def test_an_interruption_leaves_no_process_and_no_half_written_file(
    tmp_path: Path, number: signal.Signals, copies: int
) -> None:
    mark = f"loops_{os.getpid()}_{number}_{copies}"
    for copy in range(copies):
        (tmp_path / f"{mark}_{copy}.py").write_text(LOOPS)
    out = tmp_path / "out"
    out.mkdir()
    command = [sys.executable, "-P", "-m", "conformance.cli", "grade", str(tmp_path), "--json", str(out / "v.json")]
    started = subprocess.Popen([*command, "--jobs", "2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while len(processes(mark)) < 1 + min(copies, 2) and time.monotonic() < deadline:
        time.sleep(0.05)
    started.send_signal(number)
    assert started.wait(20) == (-9 if number == signal.SIGKILL else 130)
    deadline = time.monotonic() + 10
    while processes(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes(mark) == []
    assert list(out.iterdir()) == []
