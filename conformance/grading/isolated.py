"""An implementation behind the wire: in a process of its own, sandboxed, and recorded just as in this process.

    with IsolatedImplementation("candidate.py") as implementation:
        runs = implementation.run(Session((workload,)))

Runs share one process, so that what leaks from one into the next is seen. `fresh` gives one in which
nothing has run: a fork of a process that has only loaded the candidate, or where that cannot be had,
a process started anew.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from types import TracebackType

from conformance.grading import protocol
from conformance.grading.isolated_session import converse
from conformance.grading.isolated_targets import sandbox_for
from conformance.grading.sandbox import Sandbox
from conformance.grading.sandbox_limits import Limits
from conformance.grading.worker import Worker, WorkerEnded
from conformance.history import Run, Unended
from conformance.targets import TargetError
from conformance.workloads import Session
from reference.vocabulary import Dialect

SECONDS = 2.0  # of one run
STARTUP_SECONDS = 10.0


class LoadFailed(TargetError):
    """The candidate cannot be loaded; one line that says why. `kind` is `load`, or how its process ended."""

    def __init__(self, message: str, kind: str = "load") -> None:
        super().__init__(message)
        self.kind = kind


class _Workers:
    """The processes of one candidate: those in use, and those that wait with nothing run in them."""

    def __init__(self, sandbox: Sandbox, name: str, names: dict[str, str], seconds: float) -> None:
        self.sandbox, self.name, self.names, self.seconds = sandbox, name, names, seconds
        self.choice = b""
        self._idle: list[Worker] = []

    def take(self) -> Worker:
        """Get a process that has run nothing. Raises LoadFailed."""
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
        return self._started()

    def _started(self) -> Worker:
        try:
            worker = Worker(self.sandbox, self.seconds)
        except WorkerEnded as end:
            why = f"it took more than {self.seconds:g} seconds" if end.kind == "timeout" else end.why
            raise LoadFailed(f"{self.name}: loading it failed: {why}", end.kind) from None
        if worker.hello.error:
            worker.kill()
            error = worker.hello.error
            for inside, outside in self.names.items():
                error = error.replace(inside, outside)
            raise LoadFailed(f"{self.name}: {' '.join(error.split())}")
        if self.choice and "choose" in worker.hello.abilities:
            worker.send(self.choice)
        return worker

    def give_back(self, worker: Worker) -> None:
        """Take back a process: without the fork that served the runs it is as good as new."""
        if worker.end_fork():
            self._idle.append(worker)
        else:
            worker.kill()

    def kill(self) -> None:
        while self._idle:
            self._idle.pop().kill()


class IsolatedImplementation:
    """A candidate in a sandbox of its own; fulfils `conformance.targets.Implementation`.

    `target` is a .py file, a dotted module, `module:function`, or `exec:COMMAND ...` for a program in
    any language that speaks the protocol. `dialect` overrides what the candidate declares. `seconds`
    is the time of one run. `require` names sandbox layers to insist on. `packages` shows the installed
    packages to a file.

    `layers` names the sandbox layers in force, `names` the entry points that the candidate offers,
    `abilities` what else it said of itself; `ends` are those of all its processes that served engines.
    `last_end` tells how its process ended in the last session, or is None: a `WorkerEnded` of the kind
    `crashed`, `timeout`, `garbage` or `memory`.

    Raises LoadFailed when it cannot be loaded, TargetError when it is not there, and SandboxError for
    a sandbox that cannot be had.
    """

    def __init__(
        self,
        target: str,
        dialect: Dialect | None = None,
        *,
        seconds: float = SECONDS,
        startup: float = STARTUP_SECONDS,
        limits: Limits | None = None,
        require: Sequence[str] = (),
        packages: bool = False,
    ) -> None:
        sandbox, names = sandbox_for(target, limits=limits, require=require, packages=packages)
        workers = _Workers(sandbox, target, names, startup)
        first = workers.take()
        try:
            declared = protocol.dialect_of(first.hello)
        except ValueError as error:
            first.kill()
            raise LoadFailed(f"{target}: DIALECT: {error}") from None
        chosen = dialect or declared
        workers.choice = protocol.choose(chosen)
        if "choose" in first.hello.abilities:
            first.send(workers.choice)
        self._set(target, chosen, seconds, workers, first)
        self._root = True

    def _set(self, name: str, dialect: Dialect, seconds: float, workers: _Workers, first: Worker | None) -> None:
        self.name, self.dialect, self.seconds = name, dialect, seconds
        self.layers = workers.sandbox.layers
        self.names = first.hello.names if first else ()
        self.abilities = first.hello.abilities if first else ()
        self.declared = dict(first.hello.dialect) if first else {}
        self.last_end: WorkerEnded | None = None
        self.ends: list[WorkerEnded] = []
        self._workers, self._held = workers, [first] if first else []
        self._root = False
        self._finalizer = weakref.finalize(self, _release, workers, self._held)

    def run(self, session: Session) -> list[Run]:
        """Run the workloads of a session in order, in the process of the session before.

        A candidate that dies, hangs or breaks the protocol ends the session, as `last_end` tells: the
        list is then shorter, its last run `Unended` (of a nested session perhaps both, the outer one
        first), and the next session gets a fresh process.
        """
        self.last_end = None
        try:
            worker = self.worker()
        except LoadFailed as error:
            self.last_end = WorkerEnded("crashed", f"it could not be started again: {error}")
            return [Run(session.workloads[0], (), Unended(self.last_end.why))]
        try:
            runs, self.last_end = converse(worker, session, self.seconds)
        except BaseException:
            worker.kill()  # it is in the middle of a sentence
            raise
        return runs

    def worker(self) -> Worker:
        """The process that serves this session and the next ones. Raises LoadFailed."""
        worker = self._held[0] if self._held else None
        if worker is None or not worker.alive:
            self._held[:] = [worker := self._workers.take()]
        return worker

    def fresh(self, *, restart: bool = False) -> IsolatedImplementation:
        """Return the same implementation with nothing left of earlier runs; close it, or let go of it.

        It is a fork of a process that has loaded the candidate and run nothing, where the candidate
        can be forked. What a hostile one shared between forks, while it was loaded, such a fork still
        shares: with `restart` the sandbox is a new one, too.
        """
        other = IsolatedImplementation.__new__(IsolatedImplementation)
        workers = self._workers
        if restart:
            workers = _Workers(workers.sandbox, workers.name, workers.names, workers.seconds)
            workers.choice = self._workers.choice
        other._set(self.name, self.dialect, self.seconds, workers, None)
        other.names, other.abilities, other.declared = self.names, self.abilities, self.declared
        other.ends, other._root = self.ends, restart
        return other

    @property
    def has_generate(self) -> bool:
        """False for a module that answers a follow-up question only."""
        return "generate" in self.names or not self.names

    def run_fresh(self, session: Session) -> list[Run]:
        """Run one session where nothing has run before. `last_end` is of that session."""
        with self.fresh() as other:
            runs = other.run(session)
            self.last_end = other.last_end
        return runs

    def close(self) -> None:
        """End the process. The one that was not made by `fresh` ends those that wait as well."""
        self._finalizer()
        if self._root:
            self._workers.kill()

    def __enter__(self) -> IsolatedImplementation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _release(workers: _Workers, held: list[Worker]) -> None:
    while held:
        workers.give_back(held.pop())
