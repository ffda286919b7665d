"""Grading a hostile file of tests: it costs its author the score, and nobody anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.grading import sandbox
from conformance.grading import sandbox_bubblewrap as bubblewrap
from conformance.grading.own_tests import command, examine
from conformance.grading.own_tests.lineup import Member, lineup
from conformance.grading.own_tests.verdict import GradedTests
from conformance.grading.sandbox import CONTAINING
from conformance.meta.own_tests import FEW, FIFO, chosen, graded_in, invoke, outcomes
from reference.vocabulary import Dialect

contained = pytest.mark.skipif(not set(CONTAINING) <= set(sandbox.layers()), reason="no sandbox on this machine")
Graded = Callable[..., GradedTests]


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """No process is left behind that was not there before."""
    before = set(sandbox.strays())
    yield
    assert set(sandbox.strays()) <= before


@pytest.fixture
def graded(tmp_path: Path) -> Graded:
    return graded_in(tmp_path)


NOTES = """
import builtins, os, pathlib, sys, time
def test_x():
    note = pathlib.Path(os.environ["TMPDIR"], "note")
    assert not note.exists()
    note.write_text("x")
    assert not hasattr(builtins, "mark")
    builtins.mark = 1
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
        os._exit(0)
"""


@contained
@pytest.mark.usefixtures("nothing_left")
def test_nothing_outlives_an_encounter(graded: Graded) -> None:
    assert set(outcomes(graded(NOTES)).values()) == {"passed"}


LOOKS = """
import glob, inspect, os, sys
import solution
def test_x():
    said = inspect.getsource(solution.generate) + repr([vars(solution), sys.argv, os.environ])
    assert "lanes" not in said and "flawed" not in said and "lifo" not in said
    assert not hasattr(solution, "__file__")
    assert glob.glob("/*/variants/*") + glob.glob("/*/*/variants/*") + glob.glob("/*/*/catalogue.py") == []
    assert glob.glob("/implementation*") == []
    assert sorted(os.listdir("/tests")) == ["tests.py"]
    with open("/slotspec/inside/conformance/grading/own_tests/near.py") as file:
        assert "generate" in file.read()
    for path in ("/tests/tests.py", "/slotspec/inside/conformance/grading/client.py"):
        try:
            open(path, "w")
        except OSError:
            pass
        else:
            assert False, path
"""


@contained
def test_tests_cannot_see_which_implementation_they_face(graded: Graded) -> None:
    verdict = graded(LOOKS)
    assert set(outcomes(verdict).values()) == {"passed"}, verdict.implementations


def test_the_order_is_drawn_from_the_seed(tmp_path: Path) -> None:
    members = lineup(Dialect(), tmp_path)

    def order(seed: int) -> list[Member]:
        tests = examine.Tests(tmp_path / "tests.py", "solution", seed)
        nobody: Any = None
        return examine.Examination(tests, nobody, Dialect(), members, jobs=1, seconds=1)._waiting

    assert order(1) == order(1) != order(2)
    assert set(order(1)) == set(order(2)) == set(members)


HALF = """
import os, solution
class Model:
    def next_tokens(self, batch):
        for fd in range(3, 40):
            try:
                os.set_blocking(fd, False)
                os.read(fd, 5)
            except OSError:
                pass
        return [7] * len(batch)
def test_x():
    requests = [solution.Request(str(i), [i], 2000) for i in range(3)]
    solution.generate(Model(), requests, 3, 0)
"""


def test_a_message_that_a_fork_has_left_half_read_is_nobody_elses(graded: Graded) -> None:
    verdict = graded(HALF)
    assert set(outcomes(verdict).values()) <= {"crashed", "timeout", "failed"}
    assert {one.test for one in verdict.implementations} == {"tests.py::test_x"}


def test_without_namespaces_honest_tests_are_graded_and_the_screen_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "mode", lambda: "")
    monkeypatch.setattr(command, "lineup", chosen(FEW))
    beside = tmp_path / "beside"
    beside.write_text("x")
    (tmp_path / "tests.py").write_text(FIFO.format("assert first(3) == [0, 1, 2]"))
    result = invoke(tmp_path / "tests.py")
    assert result.exit_code == 0, result.output
    assert "SCORE 1.00" in result.output
    assert "cannot contain hostile tests" in result.output
    assert beside.read_text() == "x"


WRITES = """
import os
def test_x():
    for fd in range(3, 40):
        try:
            os.write(fd, {!r})
        except OSError:
            pass
    os._exit(0)
"""


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (b'["result","failed",1,"a test","because"]\n', "failed"),  # a claim about something it does not know
        (b'["result","passed",1,"",""]\n["result","failed",1,"",""]\n', "passed"),
        (b'["ended",0,"' + b"0" * 32 + b'",true]\n', "crashed"),
        (b'["forked","' + b"0" * 64 + b'"]\n', "crashed"),
        (b"[" * 100_000 + b"\n", "crashed"),
        (b"\xff\n", "crashed"),
        (b'["run",0,[[],[],[],["at",77]]]\n', "crashed"),
        (b'["reply",5,[1]]\n', "crashed"),
    ],
)
def test_a_forged_line_hurts_nobody_else(graded: Graded, said: bytes, outcome: str) -> None:
    verdict = graded(WRITES.format(said), FEW[1:])
    assert outcome in outcomes(verdict).values()
    assert verdict.score == 0


@contained
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(
    "attack",
    [
        "os.kill(os.getppid(), signal.SIGSTOP)",
        "[os.fork() for _ in range(10)]",
        "x = bytearray(10**10)",
        "open(os.environ['TMPDIR'] + '/x', 'wb').write(bytes(10**8))",
        "shutil.rmtree('/', ignore_errors=True)",
        "print('x' * 10**7)",
        "socket.create_connection(('127.0.0.1', 22))",
    ],
)
def test_an_attack_costs_its_author_alone(graded: Graded, attack: str) -> None:
    verdict = graded(f"import os, shutil, signal, socket\ndef test_x():\n    {attack}\n", FEW[:1], 5)
    assert len(verdict.implementations) == 1
    assert verdict.implementations[0].outcome in ("passed", "failed", "crashed", "timeout")
    assert Path(command.__file__).is_file()
