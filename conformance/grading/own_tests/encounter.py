"""The tests face one implementation: the referee stands between, passes on what they say, and keeps the clock."""

from __future__ import annotations

import hashlib
import select
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from conformance.grading import protocol
from conformance.grading.own_tests import messages
from conformance.grading.own_tests.messages import Asks, Forked, OutcomeKind, Over, Raises, Replies, Result, Test
from conformance.grading.protocol import Garbage
from conformance.grading.sandbox import Sandbox
from conformance.grading.worker import WATCH_SECONDS, Worker, WorkerEnded, exit_text

PATIENCE = 3.0  # seconds in which an implementation neither calls nor returns
CLEARING = 2.0  # seconds for the tests' process to clear up after a fork
MOST_BYTES = 256 * 2**20  # of one side in one encounter


@dataclass(frozen=True)
class Outcome:
    """How the tests found one implementation; `test` is the first that failed, or that ran when the time was over."""

    kind: OutcomeKind
    passed: int = 0
    test: str = ""
    why: str = ""
    seconds: float = 0.0


class Peer(Worker):
    """A process that is read from when there is something to read."""

    def __init__(self, sandbox: Sandbox, seconds: float) -> None:
        super().__init__(sandbox, seconds)
        self._lines: list[bytes] = []

    def fileno(self) -> int:
        return self._source

    def lines(self, *, wait: bool = False) -> list[bytes]:
        """The whole lines that have come. With `wait`, look whether there are more. Raises WorkerEnded."""
        if wait:
            self._read()
        *lines, self._buffer = self._buffer.split(b"\n")
        if len(self._buffer) > protocol.LONGEST_LINE:
            raise self.ended("garbage", f"it sent a line of more than {protocol.LONGEST_LINE} bytes")
        return lines

    def watch(self) -> None:
        """Look at its memory, now and then. Raises WorkerEnded."""
        if monotonic() >= self._watched + WATCH_SECONDS:
            self._watch(monotonic())


class Encounter:
    """One fork of the tests' process, and one implementation. Afterwards `tests.alive` tells whether it can go on."""

    def __init__(self, tests: Peer, implementation: Peer, seconds: float) -> None:
        self.tests, self.implementation, self.seconds = tests, implementation, seconds
        self._digest, self._test = "", ""
        self._result: Result | None = None
        self._over: Over | None = None
        self._asked = 0  # messages that the implementation has not answered yet
        self._heard = self._started = monotonic()

    def outcome(self) -> Outcome:
        """Let them meet. Nothing that either of them does raises anything here."""
        for peer in (self.tests, self.implementation):
            peer.start_clock(self.seconds + CLEARING, lambda: MOST_BYTES)
        try:
            self.tests.send(messages.FORK)
            while self._over is None:
                self._turn()
            found = self._found(self._over)
        except WorkerEnded as end:
            self.tests.kill()
            found = self._ended(end)
        self.implementation.kill()
        return Outcome(found.kind, found.passed, found.test, found.why, monotonic() - self._started)

    def _turn(self) -> None:
        for peer in (self.implementation, self.tests):
            for line in peer.lines():
                self._take(peer, line)
        if self._over is not None:
            return
        peers = [self.tests, self.implementation] if self.implementation.alive else [self.tests]
        for peer in ready(peers, min(WATCH_SECONDS, self._until() - monotonic())):
            for line in peer.lines(wait=True) if peer.alive else ():
                self._take(peer, line)
        for peer in peers:
            peer.watch()
        if monotonic() >= self._until():
            raise WorkerEnded("timeout", self._late())

    def _until(self) -> float:
        if self._result is not None:
            return self._heard + CLEARING
        until = self._started + self.seconds
        return min(until, self._heard + PATIENCE) if self._asked else until

    def _late(self) -> str:
        if self._result is not None or monotonic() >= self._started + self.seconds:
            return f"the tests were not through after {self.seconds:g} seconds"
        return f"a run neither called the model nor ended for {PATIENCE:g} seconds"

    def _take(self, peer: Peer, line: bytes) -> None:
        try:
            if peer is self.implementation:
                self._from_implementation(messages.from_implementation(line), line)
            else:
                self._from_tests(messages.from_tests(line), line)
        except Garbage as error:
            raise peer.ended("garbage", f"it broke the protocol: {error}") from None

    def _from_implementation(self, message: messages.FromImplementation, line: bytes) -> None:
        self._asked = max(0, self._asked - 1)
        self._heard = monotonic()
        if self._result is None:
            self.tests.send(line + b"\n")

    def _from_tests(self, message: messages.FromTests, line: bytes) -> None:
        if isinstance(message, Forked) and not self._digest:
            self._digest = message.digest
        elif isinstance(message, Over) and self._digest:
            if hashlib.sha256(bytes.fromhex(message.secret)).hexdigest() != self._digest:
                raise Garbage("an end that is not its own")
            self._over = message
        elif self._result is not None or not self._digest:
            raise Garbage(f"{message.__struct_config__.tag!r} when nothing was due")
        elif isinstance(message, Test):
            self._test = message.name
        elif isinstance(message, Result):
            self._result, self._heard = message, monotonic()
            self.implementation.kill()
        elif isinstance(message, Asks | Replies | Raises):
            self._asked += 1
            self._heard = monotonic()
            self.implementation.send(line + b"\n")
        else:
            raise Garbage(f"{message.__struct_config__.tag!r} a second time")

    def _found(self, over: Over) -> Outcome:
        if not over.clean:
            self.tests.kill()
        if self._result is None:
            return Outcome("crashed", 0, self._test, f"the tests' process ended: {exit_text(over.status)}")
        return Outcome(
            self._result.outcome, self._result.passed, printable(self._result.test), printable(self._result.why)
        )

    def _ended(self, end: WorkerEnded) -> Outcome:
        if self._result is not None:
            return self._found(Over(0, "", False))
        if end.kind == "timeout" or (end.kind == "memory" and not self.implementation.alive):
            return Outcome("timeout", 0, printable(self._test), end.why)
        who = "the tests'" if self.implementation.alive else "the implementation's"
        return Outcome("crashed", 0, printable(self._test), f"{who} process: {end.why}")


def ready(peers: Sequence[Peer], seconds: float) -> list[Peer]:
    """Wait until one of them has something to say, at most so long."""
    poll = select.poll()
    for peer in peers:
        poll.register(peer, select.POLLIN)
    said = {fd for fd, _ in poll.poll(max(0.0, seconds) * 1000)}
    return [peer for peer in peers if peer.fileno() in said]


def printable(text: str) -> str:
    return "".join(filter(str.isprintable, " ".join(text.split())))
