"""A run that stands still at every model call, so that somebody else can decide what the model says.

The implementation runs in a thread of its own; each `next_tokens`, from whatever thread or event loop
it comes, hands the rows over and waits for the answer. So an adaptive adversary can watch it, and two
runs can be interleaved call by call.
"""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import Any

from conformance.history import Call, Ongoing, Outcome, Raised, Returned, Run, Unended
from conformance.run import Generate, RunStopped, chained, changed, malformed_batch, normalised
from conformance.workloads import Tokens, Workload

SECONDS = 5.0


class SteppedRun:
    """One run, advanced by `answer` and `fail`. `rows` is the batch that waits for an answer, None at the end."""

    def __init__(self, generate: Generate, workload: Workload) -> None:
        self.workload = workload
        self.calls: list[Call] = []
        self.outcome: Outcome | None = None
        self.rows: tuple[Tokens, ...] | None = None
        self._raised: BaseException | None = None
        self._requests = workload.requests()
        self._asked: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._answers: SimpleQueue[list[int] | BaseException] = SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._work, args=(generate,), daemon=True)
        self._thread.start()
        self._wait()

    def answer(self, replies: list[int]) -> None:
        """Answer the call that waits, and run on to the next one or to the end."""
        assert self.rows is not None
        self.calls.append(Call(self.rows, tuple(replies)))
        self._answers.put(replies)
        self._wait()

    def fail(self, error: BaseException) -> None:
        """Raise `error` from the call that waits."""
        assert self.rows is not None
        self.calls.append(Call(self.rows, None))
        self._raised = error
        self._answers.put(error)
        self._wait()

    def record(self) -> Run:
        """The run so far; the call that waits is in it, unanswered."""
        if self.outcome is None:
            return Run(self.workload, (*self.calls, Call(self.rows or (), None)), Ongoing())
        return Run(self.workload, tuple(self.calls), self.outcome, changed(self._requests, self.workload))

    def close(self) -> None:
        """Stop the run, wherever it is."""
        self._closed = True
        for _ in range(20):
            if self.outcome is not None:
                break
            self._answers.put(RunStopped("the run was closed"))
            self._wait(seconds=1.0)
        self._thread.join(1.0)

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        """Be the language model of the implementation: hand over, wait."""
        problem = malformed_batch(batch)
        if self._closed or problem:
            self._asked.put(("bad", problem or "closed"))
            raise RunStopped(problem or "the run was closed")
        self._asked.put(("call", tuple(tuple(row) for row in batch)))
        answer = self._answers.get()
        if isinstance(answer, BaseException):
            raise answer
        return [-token * -1 for token in answer]

    def _work(self, generate: Generate) -> None:
        outcome: Outcome
        try:
            outcome = normalised(generate(self, self._requests, self.workload.num_slots, self.workload.stop_token))
        except BaseException as error:
            outcome = self._failure(error)
        self._asked.put(("end", outcome))

    def _failure(self, error: BaseException) -> Outcome:
        if isinstance(error, RunStopped):
            return Unended(str(error))
        surfaced = self._raised is not None and chained(error, self._raised)
        return Raised(type(error).__name__, str(error)[:200], surfaced, isinstance(error, ValueError))

    def _wait(self, seconds: float = SECONDS) -> None:
        self.rows = None
        try:
            what, value = self._asked.get(timeout=seconds)
        except Empty:
            self.outcome = Unended(f"neither a call nor a return within {seconds:g} seconds")
            return
        if what == "call":
            self.rows = value
        elif what == "bad":
            self.calls.append(Call((), (), value))
            self.outcome = Unended(value)
        else:
            self.outcome = value if isinstance(value, Returned | Raised | Unended) else Unended("nothing")
