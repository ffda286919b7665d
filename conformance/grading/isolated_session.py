"""One session over the wire: what may be said when, and the record of what was."""

from __future__ import annotations

from functools import partial

from conformance.grading import protocol
from conformance.grading.protocol import Called, Ended, Failed, Finished, Malformed, Message, Row
from conformance.grading.worker import Worker, WorkerEnded, exit_text
from conformance.history import Call, Outcome, Raised, Returned, Run, Unended
from conformance.workloads import Session, Workload

RUNS_AHEAD, BYTES_AHEAD = 16, 16384  # sent before they are due; far less than a pipe holds


class Ledger:
    """The language model of one workload, and the record of what it was asked: the referee's end of `Recorder`."""

    def __init__(self, number: int, workload: Workload) -> None:
        self.number, self.workload = number, workload
        self.calls: list[Call] = []
        self.attempts = 0
        self.stopped = ""
        self._allowed = workload.allowance()
        self._fault = workload.fault

    def refusal(self, problem: str) -> bytes:
        """Count a call; say that the run is over, when this was one too many or is malformed."""
        self.attempts += 1
        if len(self.calls) >= self._allowed:
            self.stopped = self.stopped or f"{self._allowed} calls, more than any right run makes"
            return protocol.stop(self.stopped)
        if problem:
            self.calls.append(Call((), (), problem))
            self.stopped = problem
            return protocol.stop(problem)
        return b""

    def answer(self, rows: tuple[Row, ...]) -> bytes:
        """Answer as the workload says, its fault included."""
        replies, fault = self.workload.reply(rows), self._fault
        if fault is not None and len(self.calls) == fault.call:
            if fault.kind == "raises":
                self.calls.append(Call(rows, None))
                return protocol.raises(fault.exception)
            if fault.kind in ("short", "long"):
                replies = replies[:-1] if fault.kind == "short" else [*replies, self.workload.otherwise]
        self.calls.append(Call(rows, tuple(replies)))
        return protocol.reply(replies)

    def run(self, outcome: Outcome, inputs_changed: str = "", rows_changed: str = "") -> Run:
        """The record, now that the run is over."""
        if self.stopped:
            outcome = Unended(self.stopped)
        return Run(self.workload, tuple(self.calls), outcome, inputs_changed, rows_changed)


class _Conversation:
    def __init__(self, worker: Worker, session: Session, seconds: float) -> None:
        self.worker, self.session, self.seconds = worker, session, seconds
        self.runs: list[Run] = []
        self.open: list[Ledger] = []
        self.first = worker.runs
        self.sent = 0
        self.ahead = "ahead" in worker.hello.abilities

    def plain(self) -> None:
        """Every run after the other; some of the next ones are told before they are due."""
        for index, workload in enumerate(self.session.workloads):
            say = self._due(index) if self.sent < index + 2 else b""
            self.runs.append(self._one(Ledger(self.first + index, workload), say))

    def nested(self) -> None:
        """The second run within the first call of the first one."""
        outer, inner = self.session.workloads
        self.sent = 1
        self.worker.runs += 2
        say = self.worker.fork_first() + protocol.run(self.first, outer)
        first = self._one(Ledger(self.first, outer), say, Ledger(self.first + 1, inner))
        self.runs.insert(0, first)

    def _due(self, due: int) -> bytes:
        """What opens the run that is due, and those after it that the pipe has room for."""
        data = [self.worker.fork_first()]
        workloads = self.session.workloads
        while self.sent < len(workloads) and (
            self.sent <= due or (self.ahead and self.sent < due + RUNS_AHEAD and sum(map(len, data)) < BYTES_AHEAD)
        ):
            data.append(protocol.run(self.first + self.sent, workloads[self.sent]))
            self.sent += 1
            self.worker.runs += 1
        return b"".join(data)

    def _one(self, ledger: Ledger, say: bytes, inner: Ledger | None = None) -> Run:
        """Open a run with `say`, and answer its calls until it ends."""
        worker = self.worker
        self.open.append(ledger)
        worker.start_clock(self.seconds * (2 if inner else 1), partial(protocol.allowed_bytes, ledger.workload))
        if say:
            worker.send(say)
        while isinstance(message := worker.message(), Called | Malformed):
            if message.run != ledger.number or message.call != ledger.attempts:
                raise self._garbage(f"it sent call {message.call} of run {message.run} out of turn")
            if not worker.quiet:
                raise self._garbage("it spoke again before its call was answered")
            if isinstance(message, Malformed):
                worker.send(ledger.refusal(message.problem or "a batch that it does not describe"))
                continue
            refusal = ledger.refusal("")
            if refusal:
                worker.send(refusal)
                continue
            if inner is not None:
                self.runs.append(self._one(inner, protocol.run(inner.number, inner.workload, inside=True)))
                worker.start_clock(self.seconds, partial(protocol.allowed_bytes, ledger.workload))
                inner = None
            worker.send(ledger.answer(message.rows))
        outcome = self._outcome(ledger, message)
        self.open.pop()
        return ledger.run(*outcome)

    def _outcome(self, ledger: Ledger, message: Message) -> tuple[Outcome, str, str]:
        """How the run ended, and the facts that came with it. Raises WorkerEnded where this is no end of this run."""
        if isinstance(message, Ended) and self.worker.forked:
            self.worker.forked = False
            raise WorkerEnded("crashed", exit_text(message.status))
        if not isinstance(message, Finished | Failed) or message.run != ledger.number:
            raise self._garbage(f"it sent {message.__struct_config__.tag!r} during run {ledger.number}")
        if isinstance(message, Finished):
            outcome: Outcome = Returned(message.pairs, message.problem)
        else:
            outcome = Raised(message.kind, message.message, message.surfaced, message.value_error)
        return outcome, message.inputs_changed, message.rows_changed

    def _garbage(self, why: str) -> WorkerEnded:
        return self.worker.ended("garbage", f"it broke the protocol: {why}")


def converse(worker: Worker, session: Session, seconds: float) -> tuple[list[Run], WorkerEnded | None]:
    """Hold one session. Returns its runs, and how the process ended if it did: the last run is then `Unended`."""
    conversation = _Conversation(worker, session, seconds)
    try:
        if session.nested:
            conversation.nested()
        else:
            conversation.plain()
        if not worker.quiet:
            raise conversation._garbage("it spoke when nothing was asked")
        return conversation.runs, None
    except WorkerEnded as end:
        # Of a nested session the outer run is open as well, and comes first.
        unended = [ledger.run(Unended(end.why)) for ledger in conversation.open]
        runs = conversation.runs
        return ([*unended, *runs] if session.nested else [*runs, *unended]), end
