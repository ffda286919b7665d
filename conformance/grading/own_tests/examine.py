"""All encounters of one file of tests, in an order that it cannot know, several at a time."""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.grading import protocol
from conformance.grading.own_tests import walls
from conformance.grading.own_tests.encounter import Encounter, Outcome, Peer
from conformance.grading.own_tests.lineup import Member
from conformance.grading.worker import WorkerEnded
from reference.vocabulary import Dialect

STARTUP = 120.0  # seconds in which pytest is imported; plenty, because a busy machine is no fault of the tests
TELLING = 4  # so many without a test that passed or failed: the right ones are tried next
ENOUGH = 2  # right ones that must time out before the rest is spared


class Unusable(Exception):
    """The file cannot be graded; one line that says why."""


class OwnFault(Exception):
    """Something of ours did not work; one line."""


@dataclass
class Tests:
    """A file of tests, what it imports, and what the order of encounters is drawn from."""

    path: Path
    module: str
    seed: int

    def start(self) -> Peer:
        """Start a process for the tests, which runs nothing of them yet. Raises Unusable and OwnFault."""
        try:
            peer = Peer(walls.of_tests(self.path, self.module, self.seed), STARTUP)
        except WorkerEnded as end:
            if end.kind == "timeout":
                raise OwnFault(f"pytest was not imported after {STARTUP:g} seconds") from None
            raise Unusable(f"it cannot be loaded: {end.why}") from None
        if peer.hello.error:
            peer.kill()
            raise Unusable(peer.hello.error)
        return peer

    def stated(self, peer: Peer) -> Dialect:
        """The dialect that it states. Raises Unusable."""
        try:
            return protocol.dialect_of(peer.hello)
        except ValueError as error:
            peer.kill()
            raise Unusable(f"DIALECT: {error}") from None


class Examination:
    """The encounters with `members`. Iterate over it once; `close` ends what is under way."""

    def __init__(
        self, tests: Tests, first: Peer, dialect: Dialect, members: Sequence[Member], *, jobs: int, seconds: float
    ) -> None:
        self._tests, self._dialect, self._seconds = tests, dialect, seconds
        self._waiting = list(members)
        random.Random(tests.seed).shuffle(self._waiting)
        self._results: queue.SimpleQueue[tuple[Member, Outcome] | Exception | None] = queue.SimpleQueue()
        self._lock, self._closed = threading.Lock(), False
        self._running: set[Peer] = {first}
        self._outcomes: list[tuple[Member, Outcome]] = []
        self.stopped = ""
        firsts: list[Peer | None] = [first]
        firsts += [None] * (min(jobs, len(members)) - 1)
        self._threads = [threading.Thread(target=self._work, args=(peer,), daemon=True) for peer in firsts]

    def __iter__(self) -> Iterator[tuple[Member, Outcome]]:
        """Yield what becomes of each, as it comes. Raises Unusable and OwnFault."""
        for thread in self._threads:
            thread.start()
        for _ in self._threads:
            while (result := self._results.get()) is not None:
                if isinstance(result, Exception):
                    raise result
                yield result

    def close(self) -> None:
        """End everything, whatever it is doing."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
            running = list(self._running)
        for peer in running:
            peer.kill()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _work(self, peer: Peer | None) -> None:
        try:
            while (member := self._next()) is not None:
                peer = self._usable(peer)
                outcome = self._meet(peer, member)
                if outcome.kind == "timeout" and (member.role == "right" or outcome.seconds < self._seconds):
                    # A busy machine looks like that, once.
                    peer = self._usable(peer)
                    outcome = self._meet(peer, member)
                with self._lock:
                    self._outcomes.append((member, outcome))
                self._results.put((member, outcome))
        except Exception as error:
            self._results.put(error)
        finally:
            if peer is not None:
                self._ended(peer)
            self._results.put(None)

    def _usable(self, peer: Peer | None) -> Peer:
        if peer is not None and peer.alive:
            return peer
        if peer is not None:
            self._ended(peer)
        return self._started(self._tests.start)

    def _meet(self, peer: Peer, member: Member) -> Outcome:
        def opened() -> Peer:
            return Peer(walls.of_implementation(member.path, self._dialect), STARTUP)

        try:
            implementation = self._started(opened)
        except WorkerEnded as end:
            raise OwnFault(f"{member.name} cannot be started: {end.why}") from None
        try:
            if implementation.hello.error:
                raise OwnFault(f"{member.name} cannot be loaded: {implementation.hello.error}")
            return Encounter(peer, implementation, self._seconds).outcome()
        finally:
            self._ended(implementation)

    def _started(self, start: Callable[[], Peer]) -> Peer:
        peer = start()
        with self._lock:
            self._running.add(peer)
            closed = self._closed
        if closed:
            peer.kill()
        return peer

    def _ended(self, peer: Peer) -> None:
        peer.kill()
        with self._lock:
            self._running.discard(peer)

    def _next(self) -> Member | None:
        """Choose the next one. Where no test ever passes or fails, the right ones are next, which settles it."""
        with self._lock:
            kinds = {outcome.kind for _, outcome in self._outcomes}
            right = [outcome.kind for member, outcome in self._outcomes if member.role == "right"]
            if "crashed" in right or "invalid" in right:
                self._stop("it is not through the others, which cannot change that")
            elif kinds == {"timeout"} and len(right) >= ENOUGH:
                self._stop(f"all of the first {len(self._outcomes)} timed out, and the others were spared")
            elif len(self._outcomes) >= TELLING and not kinds & {"passed", "failed"}:
                self._waiting.sort(key=lambda member: member.role == "right")
            return self._waiting.pop() if self._waiting else None

    def _stop(self, why: str) -> None:
        self.stopped = why
        self._waiting.clear()
