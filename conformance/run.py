"""The driver: run one implementation, in this process, against the language model of a workload."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from conformance.history import Call, Outcome, Raised, Returned, Run, Unended
from conformance.workloads import EXCEPTIONS, Session, Tokens, Workload
from reference.vocabulary import Request

Generate = Callable[..., Any]
SECONDS = 5.0  # of one run; right ones take milliseconds
IGNORED_ALARMS = 8


class RunStopped(BaseException):
    """Ends a run that makes more calls, or takes longer, than any right one; no `Exception`, so that few catch it."""


class Recorder:
    """The language model of a workload, which writes down what it is asked."""

    def __init__(self, workload: Workload, inside: Callable[[], None] | None = None) -> None:
        self.workload = workload
        self.calls: list[Call] = []
        self.raised: BaseException | None = None
        self.stopped = ""
        self.kept: list[tuple[list[int], Tokens]] = []
        self._inside = inside
        self._allowed = workload.allowance()

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        """Record the call and answer it as the workload says, its fault included."""
        problem = malformed_batch(batch)
        if len(self.calls) >= self._allowed:
            self.stopped = self.stopped or f"{self._allowed} calls, more than any right run makes"
            raise RunStopped(self.stopped)
        if problem:
            self.calls.append(Call((), (), problem))
            self.stopped = problem
            raise RunStopped(problem)
        rows = tuple([tuple(row) for row in batch])
        inside, self._inside = self._inside, None
        if inside is not None:
            inside()
        fault = self.workload.fault
        if fault is not None and len(self.calls) >= fault.call:
            return self._faulty(rows, batch)
        replies = self.workload.reply(rows)
        self.calls.append(Call(rows, tuple(replies)))
        return replies

    def _faulty(self, rows: tuple[Tokens, ...], batch: list[list[int]]) -> list[int]:
        fault, replies = self.workload.fault, self.workload.reply(rows)
        assert fault is not None
        if fault.kind == "raises" and len(self.calls) == fault.call:
            self.calls.append(Call(rows, None))
            self.raised = EXCEPTIONS[fault.exception]("the model failed")
            raise self.raised
        if fault.kind in ("short", "long") and len(self.calls) == fault.call:
            replies = replies[:-1] if fault.kind == "short" else [*replies, self.workload.otherwise]
        self.calls.append(Call(rows, tuple(replies)))
        if fault.kind == "keeps":
            self.kept += zip(batch, rows, strict=True)
        if fault.kind == "tampers":
            for row in batch:
                row[:] = [self.workload.stop_token, *row[1:], self.workload.otherwise]
            batch.clear()
        return replies

    def rows_changed(self) -> str:
        for row, before in self.kept:
            if tuple(row) != before:
                return f"the row {list(before)} was {row[:20]} at the end"
        return ""


@dataclass(frozen=True)
class Misshapen:
    """What stands for a value that could not cross from another process; `problem` says what it was."""

    problem: str


def malformed_batch(batch: Any) -> str:
    """Say what keeps `batch` from being a list of lists of ints, or nothing."""
    if type(batch) is not list:
        return batch.problem if isinstance(batch, Misshapen) else f"a batch of type {type(batch).__name__}"
    for row in batch:
        if type(row) is not list:
            return f"a row of type {type(row).__name__}"
        kinds = set(map(type, row))
        if not kinds <= {int}:
            return f"a row with a token of type {', '.join(sorted(kind.__name__ for kind in kinds - {int}))}"
    return ""


def normalised(value: Any) -> Returned:
    """Take a result apart without trusting any method of it; one from another process is taken apart already."""
    if isinstance(value, Returned):
        return value
    if not isinstance(value, dict):
        return Returned((), f"a {type(value).__name__}")
    pairs = []
    for key, tokens in dict.items(value):
        if type(key) is not str:
            return Returned((), f"a key of type {type(key).__name__}")
        if type(tokens) is not list:
            return Returned((), f"a value of type {type(tokens).__name__} for {key!r}")
        odd = set(map(type, tokens)) - {int}
        if odd:
            return Returned((), f"a token of type {', '.join(sorted(kind.__name__ for kind in odd))} for {key!r}")
        pairs.append((key, tuple(tokens)))
    return Returned(tuple(pairs))


def changed(requests: list[Request], workload: Workload) -> str:
    """Say what is not as it was in the caller's requests."""
    if len(requests) != len(workload.asks):
        return f"`requests` had {len(workload.asks)} entries and has {len(requests)}"
    for request, ask in zip(requests, workload.asks, strict=True):
        now = (
            getattr(request, "request_id", None),
            getattr(request, "prompt", None),
            getattr(request, "max_tokens", None),
        )
        if type(now[1]) is not list or now != (ask.request_id, list(ask.prompt), ask.max_tokens):
            return f"request {ask.request_id!r} with prompt {list(ask.prompt)} became {now}"
    return ""


def chained(error: BaseException, original: BaseException | None) -> bool:
    """Whether `error` is `original`, or leads to it by `__cause__`, `__context__` or as a member of a group."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        link = todo.pop()
        if link is None or id(link) in seen:
            continue
        if link is original:
            return True
        seen.add(id(link))
        todo += [link.__cause__, link.__context__, *(link.exceptions if isinstance(link, BaseExceptionGroup) else ())]
    return False


def drive(generate: Generate, workload: Workload, inside: Callable[[], None] | None = None) -> Run:
    """Run `workload` once and record it. `inside` is called within the first model call, before it is answered."""
    recorder, requests = Recorder(workload, inside), workload.requests()
    outcome: Outcome
    try:
        outcome = normalised(generate(recorder, requests, workload.num_slots, workload.stop_token))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        outcome = _raised(error, recorder)
    if recorder.stopped:
        outcome = Unended(recorder.stopped)
    return Run(workload, tuple(recorder.calls), outcome, changed(requests, workload), recorder.rows_changed())


def _raised(error: BaseException, recorder: Recorder) -> Outcome:
    if isinstance(error, RunStopped):
        return Unended(str(error))
    surfaced = recorder.raised is not None and chained(error, recorder.raised)
    return Raised(type(error).__name__, str(error)[:200], surfaced, isinstance(error, ValueError))


def drive_session(generate: Generate, session: Session, seconds: float = SECONDS) -> list[Run]:
    """Run every workload of a session, in order, or the second one inside the first."""
    if not session.nested:
        with deadline(seconds):
            return [drive(generate, workload) for workload in session.workloads]
    outer, inner = session.workloads
    runs: list[Run] = []
    with deadline(seconds):
        first = drive(generate, outer, lambda: beside(lambda: runs.append(drive(generate, inner))))
    return [first, *runs]


def beside(action: Callable[[], None]) -> None:
    """Do it in a thread of its own and wait, as another caller would: an event loop takes no second one in its own."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Stop a run that takes too long, by an alarm; only the main thread of a Unix process can have one.

    An implementation that swallows several alarms cannot be stopped from within, so the process ends.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    alarms = 0

    def ring(signum: int, frame: Any) -> None:
        nonlocal alarms
        alarms += 1
        if alarms > IGNORED_ALARMS:
            sys.__stderr__.write("slotspec: the implementation cannot be interrupted; check it with --isolated\n")  # type: ignore[union-attr]
            sys.__stderr__.flush()  # type: ignore[union-attr]
            os._exit(1)
        raise RunStopped(f"it had not returned after {seconds:g} seconds")

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
