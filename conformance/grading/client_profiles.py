"""The candidate's side of the wire for the follow-up questions: engines that are stepped, and cached runs.

Like `client.py`, which loads it when it is needed, it runs in the candidate's process, imports the
standard library only, and nothing that it says is believed beyond what `docs/protocol.md` calls *reported*.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

# The file that loads this one: the program itself, or a module of another program that serves candidates.
client: Any = sys.modules.get("conformance.grading.client") or sys.modules["__main__"]
METHODS = ("add_request", "abort_request", "step", "has_unfinished_requests")
WORDS = ("build", "add", "abort", "unfinished", "step", "close", "cached")


def shapes(module: Any) -> list[str]:
    """The profiles that a module has the shape of; of an `Engine` that has it not, what is amiss."""
    found = ["cached"] if callable(getattr(module, "generate_cached", None)) else []
    engine = getattr(module, "Engine", None)
    return [*found, shape(engine)] if callable(engine) else found


def shape(engine: Any) -> str:
    """Tell which profile an `Engine` is of, or why it is of none."""
    lacking = [name for name in METHODS if not callable(getattr(engine, name, None))]
    if lacking and inspect.isclass(engine):
        return f"no engine: its Engine has no {', '.join(lacking)}"
    try:
        signature = inspect.signature(engine)
    except (TypeError, ValueError):
        return "engine"
    needed = [o.name for o in signature.parameters.values() if o.kind is o.KEYWORD_ONLY and o.default is o.empty]
    try:
        signature.bind(None, 1, 0, **dict.fromkeys(needed))
    except TypeError:
        return "no engine: its Engine does not take (model, num_slots, stop_token)"
    if "quantum" in signature.parameters:
        return "fair"
    return f"no engine: its Engine needs {', '.join(needed)}" if needed else "engine"


def takes_dialect(called: Any) -> bool:
    """Whether it lets its caller choose the dialect."""
    try:
        return "dialect" in inspect.signature(called).parameters
    except (TypeError, ValueError):
        return False


class Profiles:
    """Serves what the referee says about engines and cached runs; `words` are the first ones of its messages."""

    words = WORDS

    def __init__(self, candidate: Any) -> None:
        self.candidate = candidate
        self.engines: dict[int, Served] = {}
        self.lines: dict[int, Lines] = {}

    def shapes(self) -> list[str]:
        """What to add to the abilities of the hello."""
        module = self.candidate.module
        offered = [getattr(module, name, None) for name in ("generate_cached", "Engine")]
        return shapes(module) + ["choose"] * any(map(takes_dialect, filter(callable, offered)))

    def serve(self, wire: Any, message: list[Any]) -> None:
        what, number, *given = message
        if what == "build":
            self.build(wire, number, *given)
        elif what == "cached":
            self.cached(wire, number, *given)
        else:
            self.engines[number].do(what, given)
            if what == "close":
                del self.engines[number]

    def build(self, wire: Any, number: int, *given: Any) -> None:
        num_slots, stop_token, fault, options = given
        served = Served(wire, number, self, stop_token, fault)
        more = dict(options)
        dialect = self._dialect(self.candidate.module.Engine)
        more.update({"dialect": dialect} if dialect else {})
        served.done(lambda: served.build(self.candidate.module.Engine, num_slots, stop_token, more))
        self.engines[number] = served

    def cached(self, wire: Any, number: int, line: int, asked: Any, *given: Any) -> None:
        """Run `generate_cached`; runs with the same `line` share one model object."""
        num_slots, stop_token, fault = given
        generate = self.candidate.module.generate_cached
        requests = [self.candidate.request(name, list(prompt), limit) for name, prompt, limit in asked]
        model = CachedModel(wire, number, stop_token, fault, lambda inner: self.serve(wire, inner))
        shared = self.lines.setdefault(line, Lines()) if line >= 0 else Lines()
        outer, shared.model = shared.model, model
        dialect = self._dialect(generate)
        more = {"dialect": dialect} if dialect else {}
        try:
            pairs, problem = client.taken_apart(generate(shared, requests, num_slots, stop_token, **more))
            head = f'["return",{number},{pairs},{client._quote(problem[: client.TEXT])}'
        except BaseException as error:
            head = f'["raised",{number},{client._quote(raised(error, model.raised))[1:-1]}'
        shared.model = outer if outer is not None else model
        rows_changed = model.close()
        changes = client.changed(requests, asked)
        wire.send(f"{head},{client._quote(changes[: client.TEXT])},{client._quote(rows_changed[: client.TEXT])}]\n")

    def _dialect(self, called: Any) -> Any:
        """What the referee chose, for who takes it."""
        chosen = self.candidate.chosen
        if not chosen or not takes_dialect(called):
            return None
        return importlib.import_module("reference.vocabulary").Dialect(**dict(chosen))


def raised(error: BaseException, model_raised: BaseException | None) -> list[Any]:
    """The facts of an exception: its class, its words, whether it is the model's, whether it is a ValueError."""
    surfaced = model_raised is not None and client.chained(error, model_raised)
    return [client.kind(error)[: client.TEXT], client.text_of(error), surfaced, isinstance(error, ValueError)]


class EngineModel(client.Model):  # type: ignore[misc]
    """The language model of one engine: while a call is open, the referee may act on engines inside it."""

    def _answer(self) -> list[Any]:
        while True:
            message = self._wire.next()
            if message[0] in WORDS:
                self._serve(message)
            else:
                return message  # type: ignore[no-any-return]


class Served:
    """One engine, and the answers to what was done to it."""

    def __init__(self, wire: Any, number: int, profiles: Profiles, stop_token: int, fault: list[Any]) -> None:
        self.wire, self.number, self.profiles = wire, number, profiles
        self.model = EngineModel(wire, number, stop_token, fault, lambda inner: profiles.serve(wire, inner))
        self.handed: list[Any] = []
        self.asked: list[list[Any]] = []
        self.engine: Any = None

    def build(self, engine: Any, num_slots: int, stop_token: int, more: dict[str, Any]) -> None:
        self.engine = engine(self.model, num_slots, stop_token, **more)

    def do(self, what: str, given: list[Any]) -> None:
        if what == "add":
            name, prompt, limit = given[0]
            request = self.profiles.candidate.request(name, list(prompt), limit)
            self.handed.append(request)
            self.asked.append([name, list(prompt), limit])
            self.done(lambda: self.engine.add_request(request))
        elif what == "abort":
            self.done(lambda: self.engine.abort_request(given[0]))
        elif what == "unfinished":
            self.unfinished()
        elif what == "step":
            self.step()
        else:
            self.close()

    def done(self, act: Callable[[], Any]) -> None:
        """Do something that gives nothing back."""
        try:
            act()
            facts: list[Any] = ["", "", False, False]
        except BaseException as error:
            facts = raised(error, self.model.raised)
        self.tell("done", *facts)

    def unfinished(self) -> None:
        try:
            value = bool(self.engine.has_unfinished_requests())
        except BaseException as error:
            self.tell("done", *raised(error, self.model.raised))
        else:
            self.tell("says", value)

    def step(self) -> None:
        self.model.raised = None
        try:
            outputs, problem = parts(self.engine.step())
        except BaseException as error:
            self.tell("done", *raised(error, self.model.raised))
        else:
            self.wire.send(f'["stepped",{self.number},{outputs},{client._quote(problem[: client.TEXT])}]\n')

    def close(self) -> None:
        self.model.close()
        changes = client.changed(self.handed, self.asked)
        self.engine = None
        self.tell("closed", changes[: client.TEXT])

    def tell(self, *message: Any) -> None:
        self.wire.send(client._quote([message[0], self.number, *message[1:]]) + "\n")


def parts(value: Any) -> tuple[str, str]:
    """Turn a step's outputs into JSON without trusting any method of them, or say what is wrong."""
    if type(value) is not list:
        return "[]", f"a {client.kind(value)}"
    shown = []
    for entry in value:
        try:
            name, token, reason = entry.request_id, entry.token, entry.finish_reason
        except BaseException as error:
            return "[]", f"an output of type {client.kind(entry)}, which cannot be read: {client.kind(error)}"
        known = reason is None or issubclass(type(reason), str)
        if type(name) is not str or not (token is None or type(token) is int) or not known:
            return "[]", f"an output of {client.kind(name)}, {client.kind(token)}, {client.kind(reason)}"
        try:
            said = None if reason is None else str.__str__(reason)[: client.TEXT]
            shown.append(f"[{client._quote(name)},{'null' if token is None else repr(token)},{client._quote(said)}]")
        except ValueError:
            return "[]", f"a token of more than 4300 digits for {name!r}"
    return f"[{','.join(shown)}]", ""


class Lines:
    """The model object of cached runs: a run's calls go to the model of that run."""

    def __init__(self) -> None:
        self.model: Any = None

    def forward(self, batch: Any) -> Any:
        return self.model.forward(batch)

    def reset(self, slot: Any) -> None:
        self.model.reset(slot)


class CachedModel(client.Model):  # type: ignore[misc]
    """The language model of one cached run; the lines are the referee's."""

    def forward(self, batch: Any) -> Any:
        """Send (slot, new tokens) rows, wait for the reply."""
        problem = malformed(batch)
        with self._lock:
            if self._over:
                raise client.RunStopped("the run is over")
            number: int = getattr(self, "_calls")  # noqa: B009
            playing = self._fault and number >= self._from and not problem
            text = ""
            if not problem:
                try:
                    rows = ",".join(f"[{slot!r},{new!r}]" for slot, new in batch)
                    text = f'["forward",{self._number},{number},[{rows}]]\n'
                except ValueError:
                    problem = "a number of more than 4300 digits"
            if problem:
                text = f'["malformed",{self._number},{number},{client._quote(problem[: client.TEXT])}]\n'
            before = [list(new) for _, new in batch] if playing else []
            self._wire.send(text)
            self._calls, self._open = number + 1, True
            answer = self._answer()
            self._open = False
        if answer[0] == "reply":
            if playing:
                self._meddle(batch, before)
            return answer[1]
        if answer[0] == "raise":
            self.raised = client.exception(answer[1])("the model failed")
            raise self.raised
        raise client.RunStopped(answer[1])

    def reset(self, slot: Any) -> None:
        """Empty a line."""
        with self._lock:
            if self._over:
                raise client.RunStopped("the run is over")
            odd = "" if type(slot) is int and abs(slot) < 2**63 else f"a slot of type {client.kind(slot)}"
            self._wire.send(client._quote(["reset", self._number, 0 if odd else slot, odd]) + "\n")
            self._open = True
            answer = self._answer()
            self._open = False
        if answer[0] != "reply":
            raise client.RunStopped(answer[1])

    def _meddle(self, batch: Any, before: list[list[int]]) -> None:
        rows = [new for _, new in batch]
        if self._fault == "keeps":
            self.kept += zip(rows, before, strict=True)
            return
        for new in rows:
            new[:] = [self._stop_token, *new[1:], self._otherwise]
        batch.clear()

    def _answer(self) -> list[Any]:
        while True:
            message = self._wire.next()
            if message[0] in WORDS:
                beside = client.threading.Thread(target=self._serve, args=(message,), daemon=True)
                beside.start()
                beside.join()
            else:
                return message  # type: ignore[no-any-return]


def malformed(batch: Any) -> str:
    """Say what keeps a batch from being a list of (slot, new tokens) tuples, or nothing."""
    if type(batch) is not list:
        return f"a batch of type {client.kind(batch)}"
    for row in batch:
        if type(row) is not tuple or len(row) != 2:
            return f"a row of type {client.kind(row)}, not a (slot, new tokens) tuple"
        if type(row[0]) is not int:
            return f"a slot of type {client.kind(row[0])}"
        if type(row[1]) is not list:
            return f"new tokens of type {client.kind(row[1])}"
        if not client.INTS.issuperset(map(type, row[1])):
            return f"a token of type {client.odd_kinds(row[1])}"
    return ""
