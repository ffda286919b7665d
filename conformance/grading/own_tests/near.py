"""What the tests import: a module whose `generate` runs in another process."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from conformance.grading.client import Wire
from conformance.grading.own_tests.line import Line
from conformance.grading.own_tests.objects import Objects


@dataclass
class Request:
    """One prompt to continue."""

    request_id: str
    prompt: list[int]
    max_tokens: int


class MockModel:
    """The language model: one next token id for every row of a batch."""

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        raise NotImplementedError


class Implementation:
    """The implementation behind the wire; runs may be open at the same time, also in several threads."""

    def __init__(self, wire: Wire) -> None:
        self._objects = Objects(1, Request)
        self._line = Line(wire, self._objects, lambda run, said: None)
        self._runs = itertools.count()

    def generate(self, model: Any, requests: Any, num_slots: Any, stop_token: Any) -> Any:
        """Let it generate, and answer what it asks the model."""
        run = next(self._runs)
        self._line.open(run)
        try:
            self._line.say("run", run, (requests, num_slots, stop_token))
            tag, value = self._line.hear(run)
            while tag == "call":
                self._answer(model, run, value)
                tag, value = self._line.hear(run)
        finally:
            self._line.close(run)
        if tag == "raised":
            raise value
        if self._objects.problem is not None:
            problem, self._objects.problem = self._objects.problem, None
            raise problem
        return value

    def _answer(self, model: Any, run: int, batch: Any) -> None:
        try:
            said = ("reply", model.next_tokens(batch))
        except BaseException as error:  # whatever it is, it is for the implementation first
            said = ("raise", error)
        self._line.say(said[0], run, said[1])


def install(name: str, wire: Wire) -> None:
    """Make the module that the tests import."""
    implementation = Implementation(wire)

    def generate(model: Any, requests: Any, num_slots: Any, stop_token: Any) -> Any:
        return implementation.generate(model, requests, num_slots, stop_token)

    parts = name.split(".")
    for depth in range(1, len(parts)):
        package = ".".join(parts[:depth])
        sys.modules.setdefault(package, ModuleType(package)).__path__ = []
    module = ModuleType(name)
    vars(module).update(generate=generate, Request=Request, MockModel=MockModel)
    sys.modules[name] = module
    for depth in range(1, len(parts)):
        setattr(sys.modules[".".join(parts[:depth])], parts[depth], sys.modules[".".join(parts[: depth + 1])])
