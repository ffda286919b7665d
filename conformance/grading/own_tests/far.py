"""The process of an implementation: it answers to `generate`, and nothing that leaves it says which one it is.

What the language model is asked goes to the process of the tests, and so does what becomes of the
objects that came from there.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from conformance.grading.client import VERSION, Candidate, Wire, kind, pipes, text_of
from conformance.grading.own_tests import errors
from conformance.grading.own_tests.line import Line, Said
from conformance.grading.own_tests.objects import Objects

STACK = 2**20  # bytes of a thread's: some implementations have a thread for each slot
AT_HOME = -1  # the box for runs that are to begin where no other is open


class Model:
    """The tests' language model, as one run of the implementation sees it."""

    def __init__(self, line: Line, run: int) -> None:
        self._line, self._run, self._lock, self._over = line, run, threading.Lock(), False

    def next_tokens(self, batch: Any) -> Any:
        """Send the batch, wait for the tests to answer."""
        with self._lock:
            if self._over:
                raise RuntimeError("the run is over")
            self._line.say("call", self._run, batch)
            tag, value = self._line.hear(self._run)
        if tag == "raise":
            raise value
        return value

    def close(self) -> None:
        with self._lock:
            self._over = True


class Runs:
    """The runs that are open. One that begins while another is open gets a thread, as its caller may have one."""

    def __init__(self, wire: Wire, generate: Callable[..., Any]) -> None:
        request = importlib.import_module("reference.vocabulary").Request
        self._generate, self._busy = generate, False
        self._line = Line(wire, Objects(0, request), self._begin)
        self._line.open(AT_HOME)

    def serve(self) -> None:
        while True:
            _, (run, asked) = self._line.hear(AT_HOME)
            self._run(run, asked)
            del asked
            self._busy = False

    def _begin(self, run: int, said: Said) -> None:
        if said[0] != "run":
            return  # the answer to a run that was given up
        self._line.open(run)
        if self._busy:
            threading.Thread(target=self._run, args=(run, said[1]), daemon=True).start()
        else:
            self._busy = True
            self._line.put(AT_HOME, ("run", (run, said[1])))

    def _run(self, run: int, asked: tuple[Any, ...]) -> None:
        model = Model(self._line, run)
        try:
            end: Said = ("return", self._generate(model, *asked))
        except BaseException as error:
            end = ("raised", error)
        model.close()
        self._line.say(end[0], run, end[1])
        self._line.close(run)
        if end[0] == "raised":
            errors.forget_frames(end[1], set())


def main(arguments: list[str]) -> None:
    """Serve one implementation: its file, and the dialect in which one that can choose is to run."""
    place, dialect = arguments
    wire = pipes()
    sys.set_int_max_str_digits(0)
    threading.stack_size(STACK)
    try:
        candidate = Candidate("file", place, "generate")
        hello = candidate.hello()
        if "choose" in hello[4]:
            candidate.choose(json.loads(dialect))
    except BaseException as error:
        hello = ["hello", VERSION, [], [], [], f"{kind(error)}: {text_of(error)}"]
    wire.send(json.dumps(hello) + "\n")
    if hello[-1]:
        os._exit(0)
    gc.freeze()

    def generate(*asked: Any) -> Any:
        return candidate.generate(*asked, **candidate.more)  # type: ignore[misc]

    Runs(wire, generate).serve()
