"""Objects that two processes both hold: what one side changes, the other side does to the very same object.

Each message carries what has changed since the last one, so that it is seen from the other side when it
would be seen in one process: at the next call, reply, return or raise. Lists, dictionaries, requests
and exceptions are shared; they are told apart by identity, so that a list that is handed over twice
arrives as one list.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sized
from typing import Any

from conformance.grading.own_tests import errors

PLAIN = frozenset({int, bool, str, type(None)})
INTS = frozenset({int})
NAMES = ("request_id", "prompt", "max_tokens")


class Objects:
    """The shared objects, seen from one side; `first` is 0 or 1, by side. `request` makes a request.

    A number is given up in two steps: the side on which nobody else holds the object says so, and keeps it
    until the other side has answered, for a message that names it may be under way.
    """

    def __init__(self, first: int, request: Callable[[Any, Any, Any], Any]) -> None:
        self._next, self._request = first, request
        self.held: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._known: dict[int, Any] = {}
        self._leaving: dict[int, Any] = {}
        self._gone: list[int] = []
        self.problem: BaseException | None = None  # of a change that an object would not take

    def packed(self, value: Any) -> list[Any]:
        """Encode a value, with all that the other side does not know yet."""
        body = self._pack(value)
        changes = list(self._changes())  # of what is let go now, too
        loose = self._loosened()
        gone, self._gone = self._gone, []
        return [changes, loose, gone, body]

    def unpacked(self, message: list[Any]) -> Any:
        """Do what the other side did, and decode the value."""
        changes, loose, gone, body = message
        for number in gone:
            self._leaving.pop(number, None)
        for number, shape, content in _members_first(changes):
            if number not in self.held and number not in self._leaving:
                self._keep(number, self._blank(shape, content))
        for number, shape, content in changes:
            self._fill(number, shape, content)
        value = self._unpack(body)
        for number in loose:
            if number in self.held:
                self._drop(number)
            self._gone.append(number)
        return value

    def _pack(self, value: Any) -> Any:
        kind = type(value)
        if kind in PLAIN:
            return value
        if _shape(value):
            return ["at", self._numbers.get(id(value)) or self._keep(self._new(), value)]
        if issubclass(kind, int | str):
            return int(value) if issubclass(kind, int) else str(value)
        if kind is float:
            return ["float", repr(value)]
        if isinstance(value, Sized) and hasattr(value, "__iter__"):
            return ["sequence", "tuple" if kind is tuple else kind.__name__, [self._pack(item) for item in value]]
        return ["odd", kind.__name__]

    def _unpack(self, body: Any) -> Any:
        if type(body) is not list:
            return body
        tag, what = body[:2]
        if tag == "at":
            return self.held[what] if what in self.held else self._leaving[what]
        if tag == "float":
            return float(what)
        if tag == "sequence":
            items = [self._unpack(item) for item in body[2]]
            return tuple(items) if what == "tuple" else type(what, (tuple,), {})(items)
        return type(what, (), {})()

    def _new(self) -> int:
        self._next += 2
        return self._next

    def _keep(self, number: int, value: Any) -> int:
        self.held[number] = value
        self._numbers[id(value)] = number
        return number

    def _drop(self, number: int) -> None:
        del self._numbers[id(self.held.pop(number))]
        self._known.pop(number, None)

    def _loosened(self) -> list[int]:
        """Let go of what nobody here holds any more: nobody can change it, or see it changed."""
        held, count = self.held, sys.getrefcount
        loose = [number for number in held if count(held[number]) <= UNHELD]
        for number in loose:
            self._leaving[number] = held[number]
            self._drop(number)
        return loose

    def _changes(self) -> Iterator[list[Any]]:
        """What is new or not as it was; looking into one object may bring up others."""
        done = 0
        while done < len(self.held):
            for number in list(self.held)[done:]:
                done += 1
                value = self.held[number]
                if type(value) is list and value == self._known.get(number) and INTS.issuperset(map(type, value)):
                    continue
                shape = _shape(value)
                content = self._content(shape, value)
                if number not in self._known or content != self._known[number]:
                    self._known[number] = content
                    yield [number, shape, content]

    def _content(self, shape: str, value: Any) -> list[Any]:
        if shape == "list":
            return list(value) if INTS.issuperset(map(type, value)) else [self._pack(item) for item in value]
        if shape == "dict":
            return [[self._pack(key), self._pack(item)] for key, item in dict.items(value)]
        if shape == "request":
            return [self._pack(getattr(value, name, None)) for name in NAMES]
        return errors.content(value, self._pack)

    def _blank(self, shape: str, content: list[Any]) -> Any:
        if shape == "error":
            return errors.blank(content, self._unpack)
        return [] if shape == "list" else {} if shape == "dict" else self._request("", [], 0)

    def _fill(self, number: int, shape: str, content: list[Any]) -> None:
        value = self.held[number] if number in self.held else self._leaving[number]
        if shape == "error":
            errors.link(value, content, self._unpack)
        elif shape == "list":
            value[:] = map(self._unpack, content)
        elif shape == "dict":
            value.clear()
            value.update((self._unpack(key), self._unpack(item)) for key, item in content)
        else:
            self._set(value, map(self._unpack, content))
        if number in self.held:
            self._known[number] = content if shape != "error" else self._content(shape, value)

    def _set(self, request: Any, values: Iterator[Any]) -> None:
        for name, now in zip(NAMES, values, strict=True):
            was = getattr(request, name, None)
            if was is now or (type(now) in PLAIN and type(was) is type(now) and was == now):
                continue
            try:
                setattr(request, name, now)
            except Exception as error:  # a frozen one, whose change raises in one process, too
                self.problem = error


def _shape(value: Any) -> str:
    kind = type(value)
    if kind is list or issubclass(kind, list):
        return "list"
    if issubclass(kind, dict):
        return "dict"
    if issubclass(kind, BaseException):
        return "error"
    return "request" if kind not in PLAIN and all(hasattr(value, name) for name in NAMES) else ""


def _members_first(changes: list[list[Any]]) -> list[list[Any]]:
    """A group of exceptions is made of its members, which it brought up."""
    groups = [change for change in changes if change[1] == "error" and change[2][3]]
    return [change for change in changes if change not in groups] + groups[::-1] if groups else changes


def _unheld() -> int:
    """How many references are counted to what only the table holds."""
    held: dict[int, Any] = {0: []}
    return sys.getrefcount(held[0])


UNHELD = _unheld()
