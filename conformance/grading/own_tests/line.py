"""One pipe for several threads: whoever waits reads, and passes on what is for the others."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from conformance.grading.client import Wire
from conformance.grading.own_tests.objects import Objects

Said = tuple[str, Any]


class Line:
    """Messages to and from the other process, by the number of the run that they belong to.

    `unknown` is asked about a message for a run that nobody waits for.
    """

    def __init__(self, wire: Wire, objects: Objects, unknown: Callable[[int, Said], None]) -> None:
        self._wire, self._objects, self._unknown = wire, objects, unknown
        self._news = threading.Condition(threading.RLock())
        self._boxes: dict[int, deque[Said]] = {}
        self._reading = False

    def open(self, run: int) -> None:
        with self._news:
            self._boxes[run] = deque()

    def close(self, run: int) -> None:
        with self._news:
            self._boxes.pop(run, None)

    def put(self, run: int, said: Said) -> None:
        with self._news:
            self._boxes[run].append(said)

    def say(self, tag: str, run: int, value: Any) -> None:
        with self._news:
            self._wire.send(json.dumps([tag, run, self._objects.packed(value)], separators=(",", ":")) + "\n")

    def hear(self, run: int) -> Said:
        """Wait for the next message of a run."""
        while True:
            with self._news:
                while self._reading and not self._boxes[run]:
                    self._news.wait()
                if self._boxes[run]:
                    return self._boxes[run].popleft()
                self._reading = True
            try:
                message = self._wire.line()
                with self._news:
                    self._deliver(message)
            finally:
                with self._news:
                    self._reading = False
                    self._news.notify_all()

    def _deliver(self, message: list[Any]) -> None:
        tag, run, body = message
        said = (tag, self._objects.unpacked(body))
        if run in self._boxes:
            self._boxes[run].append(said)
        else:
            self._unknown(run, said)
