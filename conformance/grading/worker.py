"""One candidate process, seen from the referee: lines out, lines in, and a clock that cannot be stopped."""

from __future__ import annotations

import os
import select
import weakref
from collections.abc import Callable
from time import monotonic

from conformance.grading import protocol
from conformance.grading.protocol import Ended, Garbage, Hello, Message
from conformance.grading.sandbox import Contained, Sandbox

END_SECONDS = 1.0  # for a fork to end when it is told to
CHUNK = 65536
WATCH_SECONDS = 0.2  # between looks at the memory


class WorkerEnded(Exception):
    """The process is of no more use. `kind` is crashed, timeout, garbage or memory; `why` is one line."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind, self.why = kind, why


class Worker:
    """A candidate process and its two pipes. Building it starts the process; it can be used by one run at a time.

    `hello` is what it said of itself. Raises WorkerEnded when it does not say it within `seconds`.
    """

    def __init__(self, sandbox: Sandbox, seconds: float) -> None:
        self._most_memory = sandbox.limits.memory_total
        self._contained: Contained = sandbox.start()
        self._kill = weakref.finalize(self, self._contained.kill)  # also when this is forgotten, or at exit
        self._source, self._sink = self._contained.stdout.fileno(), self._contained.stdin.fileno()
        os.set_blocking(self._sink, False)
        self._readable, self._either = select.poll(), select.poll()
        self._readable.register(self._source, select.POLLIN)
        self._either.register(self._source, select.POLLIN)
        self._either.register(self._sink, select.POLLOUT)
        self._buffer = b""
        self._watched = monotonic()
        self._seconds = seconds
        self.deadline = monotonic() + seconds
        self._received, self._most = 0, protocol.FREE_BYTES
        self._allowed: Callable[[], int] = lambda: 0
        self.forked = False
        self.runs = 0
        try:
            self.hello = self._greeting()
        except BaseException:
            self.kill()
            raise

    @property
    def alive(self) -> bool:
        return self._kill.alive

    @property
    def quiet(self) -> bool:
        """Whether nothing has come that was not asked for, as far as can be told without waiting."""
        return not self._buffer

    def start_clock(self, seconds: float, allowed: Callable[[], int]) -> None:
        """Begin a run: it may take so long, and may send so many bytes; `allowed` is asked when they are many."""
        self._seconds = seconds
        self.deadline = monotonic() + seconds
        self._received, self._most, self._allowed = len(self._buffer), protocol.FREE_BYTES, allowed

    def fork_first(self) -> bytes:
        """What to send before the first run, if the process can fork: the runs are then the fork's."""
        if self.forked or "fork" not in self.hello.abilities:
            return b""
        self.forked = True
        return protocol.FORK

    def end_fork(self) -> bool:
        """End the fork that served the runs; whether the process is as good as new. Kills it when it is not."""
        if not self.alive or not self.forked:
            return self.alive and self.runs == 0
        self.start_clock(END_SECONDS, lambda: 0)
        try:
            self.send(protocol.END)
            self.forked = not isinstance(self.message(), Ended) or not self.quiet
        except WorkerEnded:
            return False
        return not self.forked

    def send(self, data: bytes) -> None:
        """Write all of it, unless the process stops reading."""
        try:
            sent = os.write(self._sink, data)
        except BlockingIOError:
            sent = 0
        except BrokenPipeError:
            return  # what it said last, and its end, are still to be read
        if sent < len(data):
            self._send_rest(data[sent:])

    def _send_rest(self, data: bytes) -> None:
        while data:
            # A peer that writes and does not read would otherwise wait for us as we for it.
            for fd, _ in self._wait(self._either):
                if fd == self._source:
                    self._read()
                    continue
                try:
                    data = data[os.write(self._sink, data) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    return

    def line(self) -> bytes:
        """Wait for a whole line. Raises WorkerEnded at the end of the time, the bytes, or the process."""
        if not self._buffer:
            self._wait(self._readable)
            self._read()
        end = self._buffer.find(b"\n")
        if end == len(self._buffer) - 1:
            line, self._buffer = self._buffer, b""
            return line
        chunks, length = [self._buffer], len(self._buffer)
        while end < 0:
            if length > protocol.LONGEST_LINE:
                raise self.ended("garbage", f"it sent a line of more than {protocol.LONGEST_LINE} bytes")
            self._buffer = b""
            self._wait(self._readable)
            self._read()
            end = self._buffer.find(b"\n")
            chunks.append(self._buffer)
            length += len(self._buffer)
        if len(chunks) > 1:
            end += length - len(self._buffer)
            self._buffer = b"".join(chunks)
        line, self._buffer = self._buffer[:end], self._buffer[end + 1 :]
        return line

    def message(self) -> Message:
        """Wait for a message. Raises WorkerEnded, and kills the process, when anything else comes."""
        try:
            return protocol.decoded(self.line())
        except Garbage as error:
            raise self.ended("garbage", f"it broke the protocol: {error}") from None

    def ended(self, kind: str, why: str) -> WorkerEnded:
        """Kill the process, and make the error that says so."""
        self.kill()
        return WorkerEnded(kind, why)

    def kill(self) -> None:
        self._kill()

    def _greeting(self) -> Hello:
        message = self.message()
        if not isinstance(message, Hello):
            raise self.ended("garbage", "its first line is not a hello")
        if message.version != protocol.VERSION:
            raise self.ended("garbage", f"it speaks version {message.version} of the protocol, not {protocol.VERSION}")
        return message

    def _wait(self, poll: select.poll) -> list[tuple[int, int]]:
        while True:
            now = monotonic()
            if now >= self.deadline:
                raise self.ended("timeout", f"it had not returned after {self._seconds:g} seconds")
            look = self._watched + WATCH_SECONDS
            if now >= look:
                look = now + WATCH_SECONDS
                self._watch(now)
            events = poll.poll((min(self.deadline, look) - now) * 1000 + 1)
            if events:
                return events

    def _watch(self, now: float) -> None:
        self._watched = now
        if self._contained.memory() > self._most_memory:
            raise self.ended("memory", f"its processes held more than {self._most_memory // 2**20} MiB together")

    def _read(self) -> None:
        """Take what is there."""
        data = os.read(self._source, CHUNK)
        if not data:
            raise self._gone()
        self._received += len(data)
        if self._received > self._most:
            self._most = max(self._most, self._allowed())
            if self._received > self._most:
                raise self.ended("garbage", f"it sent more than {self._most} bytes, more than any right run sends")
        self._buffer = self._buffer + data if self._buffer else data

    def _gone(self) -> WorkerEnded:
        status, last_words = self._contained.status(0.5), self._contained.last_words()
        return self.ended("crashed", exit_text(status) + (f": {last_words}" if last_words else ""))


def exit_text(status: int | None) -> str:
    """Say how a process ended."""
    if status is None:
        return "it closed its pipes"
    if status > 128:
        status = 128 - status  # bubblewrap and shells report a signal so
    return f"it was killed by signal {-status}" if status < 0 else f"it exited with status {status}"
