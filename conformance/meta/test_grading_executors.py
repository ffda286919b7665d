"""Who grades: processes that may die, and a real Dask cluster of separate processes whose workers may die."""

from __future__ import annotations

import operator
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.grading import executor_dask, grade_progress
from conformance.grading.executors import ExecutorError, handing
from conformance.grading.fingerprint import fingerprint, kit
from conformance.grading.pool import FILE_CHANGED, FILE_GONE, Handing, Lost, OtherKit, Task, filled, grade_all, graded
from conformance.grading.referees import RefereeEnded, Referees
from conformance.grading.results import ResultsError, read_results
from conformance.grading.schema import Verdict, decoded, encoded
from conformance.meta.test_cli import complaint
from conformance.meta.test_grading_support import FLAWED, HOME, LOOPS, flawed

BAD = "def generate(:\n"


def dies_once(mark: str) -> int:
    """End this process, but only the first time."""
    try:
        Path(mark).touch(exist_ok=False)
    except FileExistsError:
        return 7
    os._exit(3)


class Missing:
    """Stands for a function that is not there on the other side."""

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.attrgetter("no_such_function"), (0,)

    def __call__(self) -> None:
        """Be callable here."""


# -- Processes of this machine -----------------------------------------------------------------------


def test_a_process_that_dies_costs_its_own_call_only_and_that_is_tried_once_more(tmp_path: Path) -> None:
    with Referees(2) as referees:
        once = referees.submit(dies_once, str(tmp_path / "mark"))
        twice = referees.submit(os._exit, 3)
        others = [referees.submit(operator.add, number, 1) for number in range(20)]
        assert [future.result(30) for future in others] == list(range(1, 21))
        assert once.result(30) == 7
        with pytest.raises(RefereeEnded):
            twice.result(30)


def test_what_a_call_raises_is_raised_here_and_what_it_prints_is_no_answer() -> None:
    with Referees(1) as referees:
        with pytest.raises(ValueError, match="invalid literal"):
            referees.submit(int, "x").result(30)
        assert referees.submit(print, "noise").result(30) is None
        with pytest.raises(TypeError, match="cannot pickle"):
            referees.submit(threading.Lock).result(30)
        with pytest.raises(AttributeError):
            referees.submit(Missing()).result(30)
        assert referees.submit(os.getpid).result(30) != os.getpid()


def test_to_cancel_ends_the_processes_at_once() -> None:
    referees = Referees(2)
    pids = [referees.submit(os.getpid).result(30)]
    futures = [referees.submit(time.sleep, 60) for _ in range(5)]
    start = time.monotonic()
    referees.shutdown(cancel_futures=True)
    assert time.monotonic() - start < 20
    assert all(future.done() for future in futures)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


# -- What is handed out ------------------------------------------------------------------------------


class Counting(Executor):
    """Answers when it is told to, and counts how much it was given."""

    def __init__(self, answer: Callable[[Task], Any]) -> None:
        self.answer, self.most, self.open = answer, 0, 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.open += 1
        self.most = max(self.most, self.open)
        (task,) = args
        assert task.source is not None
        try:
            future.set_result(self.answer(task))
        except Exception as error:
            future.set_exception(error)
        return future


def test_only_so_many_are_in_the_works_whatever_their_number(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(BAD)
    made: list[Task] = []

    def tasks() -> Iterator[tuple[Task, str | None]]:
        for index in range(500):
            made.append(Task(index, str(file), "quick", 1))
            yield made[-1], fingerprint(str(file))

    counting = Counting(lambda task: encoded(flawed("extra_slot")))
    seen = 0
    for _, verdict in grade_all(tasks(), Handing(counting, lambda: 4)):
        counting.open -= 1
        seen += 1
        assert len(made) <= seen + 4
        assert sum(task.source is not None for task in made) <= 4
        assert verdict.verdict == "nonconforming"
    assert (seen, counting.most) == (500, 4)


@pytest.mark.parametrize("error", [OtherKit("another"), Lost("gone")])
def test_what_is_wrong_with_the_executor_ends_the_run_and_is_no_verdict(tmp_path: Path, error: Exception) -> None:
    def answer(task: Task) -> Any:
        raise error

    file = FLAWED / "extra_slot.py"
    tasks = [(Task(index, str(file), "quick", 1), fingerprint(str(file))) for index in range(3)]
    with pytest.raises(type(error)):
        list(grade_all(tasks, Handing(Counting(answer), lambda: 2)))


def test_what_fails_for_one_candidate_is_an_error_of_ours_and_the_others_go_on() -> None:
    def answer(task: Task) -> Any:
        if task.index == 1:
            raise RefereeEnded("twice\nover")
        return encoded(flawed("extra_slot"))

    file = FLAWED / "extra_slot.py"
    tasks = [(Task(index, str(file), "quick", 1), fingerprint(str(file))) for index in range(3)]
    found = {task.index: verdict for task, verdict in grade_all(tasks, Handing(Counting(answer), lambda: 2))}
    assert [found[index].verdict for index in range(3)] == ["nonconforming", "referee-error", "nonconforming"]
    assert found[1].reason == "RefereeEnded: twice over"


def test_a_file_that_changes_or_goes_meanwhile_is_not_graded_for_what_it_was(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(BAD)
    before = fingerprint(str(file))
    task = filled(Task(0, str(file), "quick", 1), before)
    assert isinstance(task, Task)
    assert task.source == BAD.encode()
    file.write_text("")
    changed = filled(Task(0, str(file), "quick", 1), before)
    file.unlink()
    gone = filled(Task(0, str(file), "quick", 1), before)
    assert [v.reason for v in (changed, gone) if isinstance(v, Verdict)] == [FILE_CHANGED, FILE_GONE]


def test_a_task_of_another_slotspec_is_refused() -> None:
    with pytest.raises(OtherKit):
        graded(Task(0, "x.py", "quick", 1, source=b"", kit="0" * 64))
    assert decoded(graded(Task(0, "x.py", "quick", 1, source=b"", kit=kit()))).verdict == "invalid"


def test_a_source_is_graded_as_the_file_is() -> None:
    path = FLAWED / "extra_slot.py"
    by_name = decoded(graded(Task(0, str(path), "quick", 1)))
    by_source = decoded(graded(Task(0, str(path), "quick", 1, source=path.read_bytes())))
    assert msgspec.structs.replace(by_name, seconds=0) == msgspec.structs.replace(by_source, seconds=0)


# -- Dask --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ray:1", "dask", "dask:", "dask:host", "dask:a b:1", "dask:zzz://a:1", "dask:a:1/x"])
def test_an_executor_that_is_none_is_said_in_one_line(name: str) -> None:
    assert f"{name!r} is not dask:ADDRESS" in complaint("grade", FLAWED, "--executor", name)


def test_only_files_travel() -> None:
    said = complaint("grade", "variants.slot_array", "--executor", "dask:127.0.0.1:1")
    assert "variants.slot_array cannot be sent there; only Python files can" in said


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ExecutorError, match=r"pip install 'slotspec\[dask\]'"), handing("dask:127.0.0.1:1", 1, 1):
        pass


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(executor_dask, "CONNECT_SECONDS", 0.3)
    said = r"no Dask scheduler answers at 127\.0\.0\.1:1"
    with pytest.raises(ExecutorError, match=said), handing("dask:127.0.0.1:1", 1, 1):
        pass


class Cluster:
    """A scheduler and its workers, each in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "scheduler.json"
        self.scheduler = self._started("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        _until(self.file.exists)
        self.address = msgspec.json.decode(self.file.read_bytes())["address"]
        self.workers: list[subprocess.Popen[bytes]] = []

    def _started(self, what: str, *options: str, home: Path = HOME.parent) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", f"distributed.cli.dask_{what}", "--scheduler-file", str(self.file)]
        environment = {**os.environ, "PYTHONPATH": str(home)}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen([*command, *options], stdout=log, stderr=log, env=environment, cwd=self.folder)

    def add(self, *, home: Path = HOME.parent) -> None:
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
        self.workers.append(self._started("worker", *options, home=home))

    def end(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    with ExitStack() as stack:
        folder.mkdir()
        found = Cluster(folder)
        stack.callback(found.end)
        for _ in range(workers):
            found.add()
        yield found


def _until(true: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _stored(folder: Path) -> dict[str, Verdict]:
    try:
        return {Path(v.candidate.target).name: msgspec.structs.replace(v, seconds=0) for v in read_results(folder)}
    except (ResultsError, OSError):
        return {}


def _command(*arguments: object) -> list[str]:
    return [sys.executable, "-P", "-m", "conformance.cli", "grade", *map(str, arguments)]


@pytest.fixture
def submissions(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for copy in range(3):
        (folder / f"0{copy}.py").write_text(f"{BAD}# {copy}\n")
    (folder / "loops.py").write_text(LOOPS)
    for name in ("extra_slot.py", "lifo_queue.py"):
        shutil.copy(FLAWED / name, folder)
    return folder


def test_a_cluster_gives_the_same_verdicts_though_a_worker_is_killed(tmp_path: Path, submissions: Path) -> None:
    options = (submissions, "--effort", "quick", "--seed", "1")
    with cluster(tmp_path / "dask", 2) as dask:
        far = ("--executor", f"dask:{dask.address}", "--results", tmp_path / "far")
        started = subprocess.Popen(_command(*options, *far), cwd=tmp_path)
        _until(lambda: len(_stored(tmp_path / "far")) >= 3)
        dask.workers[1].send_signal(signal.SIGKILL)
        assert started.wait(120) == 1
    near = subprocess.run(_command(*options, "--results", tmp_path / "near", "--jobs", "2"), check=False)
    assert near.returncode == 1
    found = _stored(tmp_path / "far")
    assert len(found) == 6
    assert found == _stored(tmp_path / "near")  # the sandbox layers among it
    assert found["loops.py"].sandbox.layers


def test_a_cluster_that_goes_away_ends_the_run_with_what_is_kept(tmp_path: Path, submissions: Path) -> None:
    with cluster(tmp_path / "dask", 1) as dask:
        command = _command(submissions, "--effort", "quick", "--executor", f"dask:{dask.address}", "--results")
        started = subprocess.Popen([*command, str(tmp_path / "out")], stderr=subprocess.PIPE, text=True)
        _until(lambda: len(_stored(tmp_path / "out")) >= 3)
        dask.end()
        said = started.communicate(timeout=120)[1]
    kept = len(_stored(tmp_path / "out"))
    assert started.returncode == 2
    assert 3 <= kept < 6
    assert f"is gone; {kept} of 6 verdicts are kept in {tmp_path / 'out'}" in said.strip().split("\n")[-1]
    assert "Traceback" not in said
    assert "referee-error" not in [v.verdict for v in _stored(tmp_path / "out").values()]


def test_a_worker_with_another_slotspec_or_none_is_refused(tmp_path: Path, submissions: Path) -> None:
    other = tmp_path / "other"
    for package in ("reference", "variants", "conformance"):
        shutil.copytree(HOME.parent / package, other / package, ignore=shutil.ignore_patterns("__pycache__", "meta"))
    changed = other / "conformance" / "grading" / "referee_legs.py"
    changed.write_text(changed.read_text() + "\n")
    with cluster(tmp_path / "dask", 0) as dask:
        dask.add(home=other)
        command = _command(submissions, "--executor", f"dask:{dask.address}")
        refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert refused.returncode == 2
    assert "has another slotspec" in refused.stderr.strip().split("\n")[-1]


# -- Progress ----------------------------------------------------------------------------------------


def test_where_nobody_watches_a_line_comes_every_so_often(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    advance = grade_progress._Lines(2, 9, lambda: now[0])
    for seconds in (10.0, 20.0, 31.0, 32.0, 62.0):
        now[0] = seconds
        advance(f"at {seconds:g}")
    assert capsys.readouterr().err == "5 of 9: at 31\n7 of 9: at 62\n"


def test_one_candidate_has_no_progress_and_many_on_a_terminal_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with grade_progress.progress(0, 1) as advance:
        advance("alone")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with grade_progress.progress(3, 5) as advance:
        advance("one more")
    shown = capsys.readouterr().err
    assert "alone" not in shown
    assert "4/5" in shown
    assert "one more" in shown
