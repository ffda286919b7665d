"""The candidate's side of the wire: load an implementation, run it when told to, report what can be seen here only.

This file runs in the candidate's process and imports the standard library only: the sandbox shows it
alone. It holds no expected answer, and nothing that it says is believed beyond what `docs/protocol.md`
calls *reported*.

    python -I -S -B client.py (file PATH | name MODULE) FUNCTION [IMPORT-PATH ...]
"""

from __future__ import annotations

import builtins
import gc
import importlib
import importlib.util
import inspect
import json
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

VERSION = 1
CHUNK = 65536
NAMES = ("generate", "generate_cached", "Engine", "AsyncEngine")
INTS = frozenset({int})
TEXT = 300  # characters of any text sent
FIRST_FREE_FD = 10  # the pipes move here, out of the way of what reads and writes 0, 1 and 2

_fork, _exit, _read, _write, _wait = os.fork, os._exit, os.read, os.write, os.waitpid
_scan: Any = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_quote = json.dumps


@dataclass
class Request:
    request_id: str
    prompt: list[int]
    max_tokens: int


class ModelFailure(Exception):
    """What the language model raises when it fails in the ordinary way."""


class ModelInterrupt(BaseException):
    """What it raises when it is interrupted."""


class RunStopped(BaseException):
    """Ends a run that the referee has stopped."""


class Wire:
    """The two pipes: whole lines in, whole lines out. The end of the input ends the process."""

    def __init__(self, source: int, sink: int) -> None:
        self.source, self.sink = source, sink
        self.buffer = b""
        self.ahead: deque[list[Any]] = deque()

    def send(self, text: str) -> None:
        data = text.encode()
        sent = _write(self.sink, data)
        while sent < len(data):
            sent += _write(self.sink, data[sent:])

    def line(self) -> list[Any]:
        """Wait for the next message."""
        data = self.buffer or _read(self.source, CHUNK)
        end = data.find(b"\n")
        if end < 0:
            chunks = [data]
            while b"\n" not in chunks[-1]:
                if not chunks[-1]:
                    _exit(0)
                chunks.append(_read(self.source, CHUNK))
            data = b"".join(chunks)
            end = data.find(b"\n")
        self.buffer = data[end + 1 :]
        try:
            return _scan(data[:end].decode(), 0)[0]  # type: ignore[no-any-return]
        except RecursionError:  # no frame is left for it; when some of the candidate's have ended, there will be
            self.buffer = data
            raise

    def next(self) -> list[Any]:
        """Take the oldest message that was put aside, or wait for one."""
        return self.ahead.popleft() if self.ahead else self.line()


class Model:
    """The language model of one run, as the candidate sees it: every call goes to the referee and back."""

    def __init__(self, wire: Wire, number: int, stop_token: int, fault: list[Any], serve: Callable[..., None]) -> None:
        self._wire, self._number, self._stop_token, self._serve = wire, number, stop_token, serve
        self._fault: str = fault[0] if fault else ""
        self._from: int = fault[1] if fault else 0
        self._otherwise: int = fault[2] if fault else 0
        self._calls, self._over, self._open = 0, False, False
        self._lock = threading.Lock()  # one a run: a run inside a call may call from another thread
        self.raised: BaseException | None = None
        self.kept: list[tuple[list[int], list[int]]] = []

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        """Send the rows, wait for the reply."""
        problem = malformed_batch(batch)
        with self._lock:
            if self._over:
                raise RunStopped("the run is over")
            number = self._calls
            if not problem:
                try:
                    text = f'["call",{self._number},{number},{batch!r}]\n'
                except ValueError:
                    problem = "a row with a token of more than 4300 digits"
            if problem:
                text = f'["malformed",{self._number},{number},{_quote(problem[:TEXT])}]\n'
            playing = self._fault and number >= self._from and not problem
            before = [list(row) for row in batch] if playing else []
            self._wire.send(text)  # where no frame is left for it, nothing is sent, and nothing will be answered
            self._calls, self._open = number + 1, True
            answer = self._answer()
            self._open = False
        if answer[0] == "reply":
            if playing:
                self._play(batch, before)
            return answer[1]  # type: ignore[no-any-return]
        if answer[0] == "raise":
            self.raised = exception(answer[1])("the model failed")
            raise self.raised
        raise RunStopped(answer[1])

    def _answer(self) -> list[Any]:
        while True:
            message = self._wire.line()
            if message[0] == "run":
                self._wire.ahead.append(message)
            elif message[0] == "inside":
                beside = threading.Thread(target=self._serve, args=(message,), daemon=True)
                beside.start()  # in a thread, as another caller would: an event loop takes no second one in its own
                beside.join()
            else:
                return message

    def _play(self, batch: list[list[int]], before: list[list[int]]) -> None:
        if self._fault == "keeps":
            self.kept += zip(batch, before, strict=True)
        else:
            for row in batch:
                row[:] = [self._stop_token, *row[1:], self._otherwise]
            batch.clear()

    def close(self) -> str:
        """Say which kept row changed, if one did. Later calls, from threads left behind, reach nobody."""
        with self._lock:
            self._over = True
            if self._open:  # an exception, such as RecursionError, came between a call and its reply
                self._answer()
        for row, before in self.kept:
            if row != before:
                return f"the row {before} was {row[:20]} at the end"
        return ""


def malformed_batch(batch: Any) -> str:
    """Say what keeps `batch` from being a list of lists of ints, or nothing."""
    if type(batch) is not list:
        return f"a batch of type {kind(batch)}"
    for row in batch:
        if type(row) is not list:
            return f"a row of type {kind(row)}"
        if not INTS.issuperset(map(type, row)):
            return f"a row with a token of type {odd_kinds(row)}"
    return ""


def kind(value: Any) -> str:
    """The name of a type, whatever its metaclass makes of it."""
    return str(type.__dict__["__name__"].__get__(type(value)))


def odd_kinds(tokens: list[Any]) -> str:
    return ", ".join(sorted({kind(token) for token in tokens if type(token) is not int}))


def taken_apart(value: Any) -> tuple[str, str]:
    """Turn a result into JSON pairs without trusting any method of it, or say what is wrong with it."""
    if not issubclass(type(value), dict):
        return "[]", f"a {kind(value)}"
    pairs = []
    for key, tokens in dict.items(value):
        problem = odd_pair(key, tokens)
        if problem:
            return "[]", problem
        try:
            pairs.append(f"[{_quote(key)},{tokens!r}]")
        except ValueError:
            return "[]", f"a token of more than 4300 digits for {key!r}"
    return f"[{','.join(pairs)}]", ""


def odd_pair(key: Any, tokens: Any) -> str:
    """Say what keeps an entry of a result from being a string and a list of ints, or nothing."""
    if type(key) is not str:
        return f"a key of type {kind(key)}"
    if not key.isascii() and any("\ud800" <= character < "\ue000" for character in key):
        return f"a key that is not Unicode text: {key!a}"
    if type(tokens) is not list:
        return f"a value of type {kind(tokens)} for {key!r}"
    if not INTS.issuperset(map(type, tokens)):
        return f"a token of type {odd_kinds(tokens)} for {key!r}"
    return ""


def changed(requests: list[Any], asked: list[list[Any]]) -> str:
    """Say what is not as it was in the caller's requests."""
    if len(requests) != len(asked):
        return f"`requests` had {len(asked)} entries and has {len(requests)}"
    for request, was in zip(requests, asked, strict=True):
        try:
            now: list[Any] = [getattr(request, name, None) for name in ("request_id", "prompt", "max_tokens")]
            exact = [*map(type, now)] == [str, list, int] and INTS.issuperset(map(type, now[1]))
            if not exact or now != was:
                return f"request {was[0]!r} with prompt {was[1]} became {tuple(now)}"
        except BaseException as error:
            return f"request {was[0]!r} cannot be read any more: {kind(error)}"
    return ""


def chained(error: BaseException, original: BaseException | None) -> bool:
    """Whether `error` is `original`, or leads to it by `__cause__`, `__context__` or as a member of a group."""
    seen, todo = set[int](), list[BaseException | None]([error])
    while todo:
        link = todo.pop()
        if link is None or id(link) in seen:
            continue
        if link is original:
            return True
        seen.add(id(link))
        todo += [link.__cause__, link.__context__, *(link.exceptions if isinstance(link, BaseExceptionGroup) else ())]
    return False


def exception(name: str) -> type[BaseException]:
    """Find the class of an exception that the model raises, by its name."""
    if name == "CancelledError":
        from asyncio import CancelledError  # slow to import, and seldom needed

        return CancelledError
    known = {"ModelFailure": ModelFailure, "ModelInterrupt": ModelInterrupt}.get(name) or getattr(builtins, name, None)
    return known or type(name, (Exception,), {})


def text_of(error: BaseException) -> str:
    """The message of an exception, which may be unwilling to tell it."""
    try:
        return str(error)[:200].encode(errors="replace").decode()
    except BaseException:
        return ""


class NotThere(Exception):
    """What was to be loaded is not there; the text says what was looked for."""


class Candidate:
    """The loaded implementation, and how to run it. Building it raises NotThere, or what the loading raises."""

    def __init__(self, how: str, place: str, function: str) -> None:
        self.module = _from_file(place) if how == "file" else importlib.import_module(place)
        self.generate = getattr(self.module, function, None)
        self.offered = [name for name in NAMES if callable(getattr(self.module, name, None))]
        if not callable(self.generate) and (function != NAMES[0] or not self.offered):
            raise NotThere(f"no callable {function!r} in {getattr(self.module, '__file__', place)}")
        # A candidate that imports the nouns gets its own class of request, and can ask for it by name.
        nouns = sys.modules.get("reference.vocabulary")
        self.request = getattr(nouns, "Request", Request)
        self.more: dict[str, Any] = {}
        self.chosen: list[list[str]] = []
        self.served: Any = None

    def hello(self) -> list[Any]:
        chosen: Any = getattr(self.module, "DIALECT", {})
        items = dict(chosen).items() if isinstance(chosen, Mapping) else [("", chosen)]
        dialect = [[str(axis)[:TEXT], str(value)[:TEXT]] for axis, value in items][:16]
        # A fork keeps no thread but its own; a candidate that started some while it was loaded cannot be forked.
        abilities = ["ahead"] + ["fork"] * (threading.active_count() == 1) + ["choose"] * self._chooses()
        if {"generate_cached", "Engine"} & {*self.offered}:
            self.served = _from_file(f"{os.path.dirname(__file__)}/client_profiles.py").Profiles(self)
            abilities += self.served.shapes()
        return ["hello", VERSION, dialect, self.offered, abilities, ""]

    def _chooses(self) -> bool:
        try:
            return "dialect" in inspect.signature(self.generate).parameters  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return False

    def choose(self, dialect: list[list[str]]) -> None:
        self.chosen = dialect
        if self._chooses():
            self.more = {"dialect": importlib.import_module("reference.vocabulary").Dialect(**dict(dialect))}

    def run(self, wire: Wire, message: list[Any]) -> None:
        """Serve one run, those inside it included, and report how it ended."""
        _, number, asked, num_slots, stop_token, fault = message
        requests = [self.request(name, list(prompt), limit) for name, prompt, limit in asked]
        model = Model(wire, number, stop_token, fault, lambda inner: self.run(wire, inner))
        try:
            pairs, problem = taken_apart(self.generate(model, requests, num_slots, stop_token, **self.more))  # type: ignore[misc]
            head = f'["return",{number},{pairs},{_quote(problem[:TEXT])}'
        except BaseException as error:
            facts = [kind(error)[:TEXT], text_of(error), model.raised is not None and chained(error, model.raised)]
            head = f'["raised",{number},{_quote([*facts, isinstance(error, ValueError)])[1:-1]}'
        rows_changed = model.close()
        wire.send(f"{head},{_quote(changed(requests, asked)[:TEXT])},{_quote(rows_changed[:TEXT])}]\n")


def _from_file(place: str) -> Any:
    name = f"slotspec_target_{os.path.basename(place).removesuffix('.py')}"
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise NotThere("not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def serve(wire: Wire, candidate: Candidate, *, forked: bool = False) -> None:
    """Do what the referee says. A process that has forked serves no run itself, so that each fork starts fresh."""
    has_forked = False
    while True:
        message = wire.next() if not has_forked else _whole(wire)
        if message == ["fork"] and not forked:
            has_forked = True
            child = _fork()
            if child == 0:
                return serve(wire, candidate, forked=True)
            wire.buffer = b""  # what came with it is the child's
            wire.send(f'["ended",{os.waitstatus_to_exitcode(_wait(child, 0)[1])}]\n')
        elif message[0] == "choose":
            candidate.choose(message[1])
        elif message[0] == "run" and not has_forked:
            candidate.run(wire, message)
        elif candidate.served and message[0] in candidate.served.words and not has_forked:
            candidate.served.serve(wire, message)
        elif message == ["end"] and forked:
            _exit(0)


def _whole(wire: Wire) -> list[Any]:
    """Wait for a message, past what was meant for a child that died with it half read."""
    while True:
        try:
            message: Any = wire.line()
        except (ValueError, StopIteration):
            continue
        if type(message) is list and message and type(message[0]) is str:
            return message


def pipes() -> Wire:
    """Take the protocol's pipes away from 0 and 1; the candidate reads nothing there, and what it prints is lost."""
    import fcntl

    source, sink = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD) for fd in (0, 1))
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    os.close(nothing)
    return Wire(source, sink)


def main(arguments: list[str]) -> None:
    how, place, function, *paths = arguments
    wire = pipes()
    sys.path += paths
    try:
        candidate = Candidate(how, place, function)
        hello = candidate.hello()
    except NotThere as error:
        hello = ["hello", VERSION, [], [], [], str(error)[:TEXT]]
    except BaseException as error:
        did = "loading" if how == "file" else "importing"
        reason = f"{did} it failed with {kind(error)}: {' '.join(text_of(error).split())}"
        hello = ["hello", VERSION, [], [], [], reason[:TEXT]]
    wire.send(_quote(hello) + "\n")
    if hello[-1]:
        _exit(0)
    gc.freeze()
    serve(wire, candidate)


if __name__ == "__main__":
    given, sys.argv = sys.argv[1:], sys.argv[:1]
    main(given)
