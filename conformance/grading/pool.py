"""Many candidates: what is handed out for each, to whatever executor, and what comes back.

A task carries the source of its candidate, so that it can be graded on a machine that cannot see the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from conformance.grading.dialects import DEFAULT
from conformance.grading.fingerprint import kit, of_source
from conformance.grading.grade_one import INFER, described, grade
from conformance.grading.isolated_targets import is_file, split
from conformance.grading.sandbox import SandboxError
from conformance.grading.schema import Sandbox, Verdict, decoded, encoded
from conformance.grading.verdict import Circumstances, unexamined
from conformance.targets import TargetError

FILE_GONE = "it cannot be read any more"
FILE_CHANGED = "it was changed while candidates were being graded; grade it again"


class Task(msgspec.Struct, forbid_unknown_fields=True):
    """One candidate to grade; `source` are the bytes of its file, `kit` digests the slotspec that hands it out."""

    index: int
    target: str
    effort: Literal["quick", "default", "thorough"]
    seed: int
    dialect: str = INFER
    require: list[str] = []
    packages: bool = False
    profiles: list[str] = []
    source: bytes | None = None
    kit: str = ""


class OtherKit(Exception):
    """A task came to another slotspec than the one that gave it: its verdict would not be comparable."""


class Lost(Exception):
    """Those who grade are gone, and not for a candidate's sake; one line that says why."""


class Handing(NamedTuple):
    """An executor, and how many tasks it should have at a time: enough to be busy, few enough to be kept in memory."""

    executor: Executor
    ahead: Callable[[], int]


class Here(Executor):
    """Calls at once, in this process."""

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]
        future: Future[object] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def graded(task: Task) -> bytes:
    """Grade one candidate; that it has vanished meanwhile, or has no sandbox, is in the verdict, which is encoded.

    Raises OtherKit.
    """
    if task.kit and task.kit != kit(packages=task.packages):
        raise OtherKit(f"the slotspec there is another one: its digest is not {task.kit[:12]}")
    try:
        verdict = grade(
            task.target,
            source=task.source,
            effort=task.effort,
            dialect=task.dialect,
            seed=task.seed,
            require=task.require,
            packages=task.packages,
            profiles=task.profiles,
        )
    except (TargetError, SandboxError) as error:
        verdict = failed(task, str(error))
    return encoded(verdict)


def failed(task: Task, reason: str) -> Verdict:
    """The verdict of a candidate that the referee could not grade."""
    given = Circumstances(described(task.target), task.effort, task.seed, {}, False, Sandbox([], False))
    return unexamined(given, "referee-error", reason, DEFAULT, 0.0)


def filled(task: Task, fingerprint: str | None) -> Task | Verdict:
    """Give a task its source; or say that the file is no longer the one that it was."""
    if not is_file(task.target):
        return task
    place, function = split(task.target)
    try:
        task.source = Path(place).read_bytes()
    except OSError:
        return failed(task, FILE_GONE)
    return task if fingerprint == of_source(task.source, function) else failed(task, FILE_CHANGED)


def grade_all(tasks: Iterable[tuple[Task, str | None]], hand: Handing) -> Iterator[tuple[Task, Verdict]]:
    """Grade all, and yield the verdicts as they come. `tasks` are pairs of a task and its candidate's fingerprint.

    Raises OtherKit and Lost.
    """
    waiting, more = iter(tasks), True
    open_: dict[Future[bytes], Task] = {}
    try:
        while more or open_:
            while more and len(open_) < max(1, hand.ahead()):
                task, fingerprint = next(waiting, (None, None))
                if task is None:
                    more = False
                    break
                ready = filled(task, fingerprint)
                if isinstance(ready, Verdict):
                    yield task, ready
                    continue
                open_[hand.executor.submit(graded, ready)] = task
            for future in wait(open_, return_when=FIRST_COMPLETED).done if open_ else ():
                yield _result(open_.pop(future), future)
    finally:
        for future in open_:
            future.cancel()


def _result(task: Task, future: Future[bytes]) -> tuple[Task, Verdict]:
    task.source = None
    try:
        return task, decoded(future.result())
    except (OtherKit, Lost):
        raise
    except CancelledError:
        raise Lost("the tasks were cancelled") from None
    except Exception as error:
        return task, failed(task, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
