"""Engines and cached runs behind the wire: they look as if they were in this process, so that its drivers drive them.

What the candidate's process says is read strictly. That it ends, hangs or breaks the protocol is told by
`ProcessEnded`, and by `last_end` of the implementation that holds the process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from conformance.engine.events import Output
from conformance.grading import protocol
from conformance.grading.isolated import IsolatedImplementation, LoadFailed
from conformance.grading.protocol import (
    Called,
    Closed,
    Done,
    Emptied,
    Ended,
    Failed,
    Finished,
    Forwarded,
    Malformed,
    Message,
    Says,
    Stepped,
)
from conformance.grading.worker import WorkerEnded, exit_text
from conformance.history import Returned
from conformance.run import Misshapen, RunStopped
from reference.vocabulary import Dialect, Request

MOST_BYTES = 16 * 2**20  # of one life of an engine, or of one cached run


class ProcessEnded(Exception):
    """The candidate's process is gone, or was ended; the text says why."""


def raised(kind: str, message: str, *, value_error: bool) -> Exception:
    """An exception of the class that the candidate's had, by name."""
    bases = (ValueError,) if value_error else (Exception,)
    return type(kind or "Exception", bases, {})(message)  # type: ignore[no-any-return]


class Exchange:
    """One engine or run in the candidate's process: what is said about it, and the calls that it makes meanwhile."""

    def __init__(self, held: IsolatedImplementation) -> None:
        self._held = held
        try:
            self._worker = held.worker()
        except LoadFailed as error:
            raise ProcessEnded(f"it could not be started again: {error}") from None
        self.number = self._worker.runs
        self._worker.runs += 1
        self._calls = 0
        self.failure: BaseException | None = None
        self._worker.start_clock(held.seconds, lambda: MOST_BYTES)
        self._worker.send(self._worker.fork_first())

    def ask(self, data: bytes, *kinds: type[Any]) -> Any:
        """Say something, answer the calls that are made before it is done, and return what came of it."""
        if not self._worker.alive:
            raise ProcessEnded("its process is gone")
        try:
            self._worker.send(data)
            while True:
                message = self._worker.message()
                if isinstance(message, kinds) and message.run == self.number:
                    return message
                self._answer(message)
        except WorkerEnded as end:
            self._held.last_end = end
            self._held.ends.append(end)
            raise ProcessEnded(end.why) from None
        except BaseException:
            self._worker.kill()  # it is in the middle of a sentence
            raise

    def _answer(self, message: Message) -> None:
        worker = self._worker
        if isinstance(message, Ended) and worker.forked:
            worker.forked = False
            worker.kill()
            raise WorkerEnded("crashed", exit_text(message.status))
        if not isinstance(message, Called | Malformed | Forwarded | Emptied) or message.run != self.number:
            raise worker.ended("garbage", "it broke the protocol: it spoke out of turn")
        if not worker.quiet:
            raise worker.ended("garbage", "it broke the protocol: it spoke again before its call was answered")
        if not isinstance(message, Emptied):
            if message.call != self._calls:
                raise worker.ended("garbage", "it broke the protocol: its calls are out of order")
            self._calls += 1
        worker.send(self._reply(message))

    def _reply(self, message: Called | Malformed | Forwarded | Emptied) -> bytes:
        try:
            return protocol.reply(self.serve(message))
        except RunStopped as stop:
            return protocol.stop(str(stop))
        except (ProcessEnded, KeyboardInterrupt):
            raise
        except BaseException as error:
            self.failure = error
            return protocol.raises(type(error).__name__)

    def serve(self, message: Any) -> list[int]:
        """Let the referee's language model answer a call."""
        raise NotImplementedError

    def surfaced(self, facts: Done | Failed) -> BaseException:
        """The exception to raise here for one that was raised there."""
        if facts.surfaced and self.failure is not None:
            return self.failure
        return raised(facts.kind, facts.message, value_error=facts.value_error)


class RemoteEngine(Exchange):
    """An `Engine` in the candidate's process; `inputs_changed` is known when it is closed."""

    def __init__(self, held: IsolatedImplementation, model: Any, num_slots: int, stop_token: int, **more: int) -> None:
        super().__init__(held)
        self._model = model
        self.inputs_changed = ""
        tampers = bool(getattr(model, "tampers", False))
        self._do(
            protocol.build(self.number, num_slots, stop_token, tampers=tampers, otherwise=stop_token, options=more)
        )

    def add_request(self, request: Request) -> None:
        self._do(protocol.act("add", self.number, [request.request_id, request.prompt, request.max_tokens]))

    def abort_request(self, request_id: str) -> None:
        self._do(protocol.act("abort", self.number, request_id))

    def has_unfinished_requests(self) -> bool:
        said = self.ask(protocol.act("unfinished", self.number), Says, Done)
        if isinstance(said, Done):
            raise self.surfaced(said)
        return bool(said.value)

    def step(self) -> Any:
        self.failure = None
        said = self.ask(protocol.act("step", self.number), Stepped, Done)
        if isinstance(said, Done):
            raise self.surfaced(said)
        return Misshapen(said.problem) if said.problem else [Output(*output) for output in said.outputs]

    def close(self) -> None:
        self.inputs_changed = self.ask(protocol.act("close", self.number), Closed).inputs_changed

    def _do(self, data: bytes) -> None:
        done = self.ask(data, Done)
        if done.kind:
            raise self.surfaced(done)

    def serve(self, message: Any) -> list[int]:
        if isinstance(message, Malformed):
            batch: Any = Misshapen(message.problem)
        elif isinstance(message, Called):
            batch = [list(row) for row in message.rows]
        else:
            raise self._worker.ended("garbage", "it broke the protocol: an engine has no cache")
        return self._model.next_tokens(batch)  # type: ignore[no-any-return]


class RemoteCached:
    """`generate_cached` in the candidate's process; what changed in its last run is told beside it."""

    def __init__(self, held: IsolatedImplementation) -> None:
        self._held = held
        self.inputs_changed = self.rows_changed = ""

    def __call__(self, mock: Any, requests: list[Request], num_slots: int, stop_token: int) -> Returned:
        self.inputs_changed = self.rows_changed = ""
        run = CachedExchange(self._held, mock)
        if mock.number < 0:
            mock.number = run.number
        said = run.ask(protocol.cached(run.number, mock.number, mock.workload), Finished, Failed)
        self.inputs_changed, self.rows_changed = said.inputs_changed, said.rows_changed
        if isinstance(said, Failed):
            raise run.surfaced(said)
        return Returned(said.pairs, said.problem)


class CachedExchange(Exchange):
    """One cached run; the cache is the mock's, in this process."""

    def __init__(self, held: IsolatedImplementation, mock: Any) -> None:
        super().__init__(held)
        self._mock = mock

    def serve(self, message: Any) -> list[int]:
        if isinstance(message, Emptied):
            self._mock.reset(Misshapen(message.problem) if message.problem else message.slot)
            return []
        if isinstance(message, Malformed):
            return self._mock.forward(Misshapen(message.problem))  # type: ignore[no-any-return]
        if not isinstance(message, Forwarded):
            raise self._worker.ended("garbage", "it broke the protocol: it called a model without a cache")
        return self._mock.forward([(slot, list(new)) for slot, new in message.rows])  # type: ignore[no-any-return]


def isolated(config: Any) -> IsolatedImplementation | None:
    """The implementation under test of a pytest session, where it runs in another process."""
    from conformance.conftest import EVIDENCE

    implementation: Any = config.stash[EVIDENCE].study.implementation
    return implementation if isinstance(implementation, IsolatedImplementation) else None


# -- What a study studies --------------------------------------------------------------------------------


@dataclass(frozen=True)
class RemoteSubject:
    """An engine to study in the candidate's process; with a quantum where it takes one."""

    held: IsolatedImplementation
    dialect: Dialect

    @property
    def name(self) -> str:
        return self.held.name

    def make(self, quantum: int | None = None) -> Callable[[Any, int, int], RemoteEngine]:
        return _maker(self.held, quantum)

    def fresh(self, quantum: int | None = None) -> Callable[[Any, int, int], RemoteEngine]:
        """The same in a process in which nothing has run."""
        return _maker(self.held.fresh(), quantum)


def _maker(held: IsolatedImplementation, quantum: int | None) -> Callable[[Any, int, int], RemoteEngine]:
    return partial(RemoteEngine, held) if quantum is None else partial(RemoteEngine, held, quantum=quantum)


class RemoteImplementation:
    """A `generate_cached` to study in the candidate's process."""

    def __init__(self, held: IsolatedImplementation, dialect: Dialect) -> None:
        self.held, self.dialect, self.name = held, dialect, held.name
        self.generate = RemoteCached(held)

    def fresh(self) -> RemoteImplementation:
        return RemoteImplementation(self.held.fresh(), self.dialect)
