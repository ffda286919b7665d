"""Many candidates at once: referees in processes of their own, which end when this one does.

python -P -m conformance.grading.pool     (one referee: tasks on its input, verdicts on its output)
"""

from __future__ import annotations

import os
import queue
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from conformance.grading.dialects import DEFAULT
from conformance.grading.grade_one import INFER, described, grade
from conformance.grading.sandbox import SandboxError
from conformance.grading.schema import Sandbox, Verdict, decoded, encoded
from conformance.grading.verdict import Circumstances, unexamined
from conformance.targets import TargetError

END_SECONDS = 5.0


class Task(msgspec.Struct, forbid_unknown_fields=True):
    """One candidate to grade."""

    index: int
    target: str
    effort: Literal["quick", "default", "thorough"]
    seed: int
    dialect: str = INFER
    require: list[str] = []
    packages: bool = False
    profiles: list[str] = []


Grade = Callable[[Task], Verdict]


def graded(task: Task) -> Verdict:
    """Grade one candidate; that it has vanished meanwhile, or has no sandbox, is in the verdict."""
    try:
        return grade(
            task.target,
            effort=task.effort,
            dialect=task.dialect,
            seed=task.seed,
            require=task.require,
            packages=task.packages,
            profiles=task.profiles,
        )
    except (TargetError, SandboxError) as error:
        return failed(task, str(error))


def failed(task: Task, reason: str) -> Verdict:
    """The verdict of a candidate that the referee could not grade."""
    given = Circumstances(described(task.target), task.effort, task.seed, {}, False, Sandbox([], False))
    return unexamined(given, "referee-error", reason, DEFAULT, 0.0)


def grade_all(tasks: Sequence[Task], jobs: int, grade_task: Grade = graded) -> Iterator[tuple[Task, Verdict]]:
    """Grade all, as they come; in this process when one job is enough."""
    if min(jobs, len(tasks)) <= 1:
        yield from ((task, grade_task(task)) for task in tasks)
        return
    with _Pool(min(jobs, len(tasks))) as pool:
        yield from pool.work(tasks)


class _Pool:
    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.selector = selectors.DefaultSelector()
        self.busy: dict[subprocess.Popen[bytes], Task] = {}

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *what: Any) -> None:
        """End every referee: it ends its candidate when its input ends."""
        for worker in self.busy:
            with suppress(OSError):
                worker.stdin.close()  # type: ignore[union-attr]
        for worker in self.busy:
            try:
                worker.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
            worker.stdout.close()  # type: ignore[union-attr]
        self.selector.close()

    def work(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Verdict]]:
        waiting = iter(tasks)
        for task in [task for _, task in zip(range(self.jobs), waiting, strict=False)]:
            self._start(task)
        while self.selector.get_map():
            for key, _ in self.selector.select():
                worker = key.data
                line = worker.stdout.readline()
                task = self.busy[worker]
                verdict = decoded(line) if line.endswith(b"\n") else None
                following = next(waiting, None)
                if following is None:
                    self.selector.unregister(worker.stdout)
                elif verdict is None:
                    self.selector.unregister(worker.stdout)
                    self._start(following)
                else:
                    self._tell(worker, following)
                yield task, verdict or failed(task, "the referee process ended")

    def _start(self, task: Task) -> None:
        home = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH", "")]))
        worker = subprocess.Popen(
            [sys.executable, "-P", "-m", "conformance.grading.pool"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        self.busy[worker] = task
        self.selector.register(worker.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]
        self._tell(worker, task)

    def _tell(self, worker: subprocess.Popen[bytes], task: Task) -> None:
        self.busy[worker] = task
        with suppress(BrokenPipeError):  # it is gone, which its output will tell
            worker.stdin.write(msgspec.json.encode(task) + b"\n")  # type: ignore[union-attr]
            worker.stdin.flush()  # type: ignore[union-attr]


class Interrupted(BaseException):
    """The one who gave the tasks is gone."""


def serve() -> None:
    """Grade what comes on standard input, one task a line, until it ends. Its end interrupts a task."""
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    main, working = threading.main_thread().ident or 0, threading.Event()

    def interrupt(*_: Any) -> None:
        raise Interrupted

    def listen() -> None:
        for line in sys.stdin.buffer:
            working.set()
            tasks.put(line)
        tasks.put(b"")
        if working.is_set():
            signal.pthread_kill(main, signal.SIGTERM)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, interrupt)
    threading.Thread(target=listen, daemon=True).start()
    with suppress(Interrupted, BrokenPipeError):
        while line := tasks.get():
            sys.stdout.buffer.write(encoded(graded(msgspec.json.decode(line, type=Task))) + b"\n")
            sys.stdout.buffer.flush()
            working.clear()


if __name__ == "__main__":
    serve()
