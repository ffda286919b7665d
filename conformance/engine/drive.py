"""The driver: play a script against one engine, in this process, and write down its life."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

from conformance.engine.events import (
    Abort,
    Begin,
    Build,
    Call,
    Event,
    History,
    Output,
    Raise,
    Reply,
    Return,
    Situation,
    Stopped,
    Submit,
    Unfinished,
)
from conformance.engine.script import Move, Script
from conformance.run import SECONDS, Misshapen, RunStopped, chained, deadline, malformed_batch
from conformance.workloads import EXCEPTIONS, Ask, Tokens
from reference.vocabulary import Dialect, Request

Make = Callable[[Any, int, int], Any]
Answer = Callable[[Sequence[Tokens]], list[int]]


def maker(module: ModuleType, dialect: Dialect) -> Make:
    """The way to build the module's `Engine`, in `dialect` if it takes one."""
    engine: Any = module.Engine
    try:
        takes = "dialect" in inspect.signature(engine).parameters
    except (TypeError, ValueError):
        takes = False
    make: Make = partial(engine, dialect=dialect) if takes else engine
    return make


class Player:
    """An engine under watch: everything that is done to it goes through here, and the model's calls come back here.

    It is `dead` when it has raised of its own or had to be stopped; nothing more is asked of it then.
    """

    def __init__(
        self,
        make: Make,
        num_slots: int,
        stop_token: int,
        answer: Answer,
        *,
        tampers: bool = False,
        most_calls: int = 1,
    ) -> None:
        self.num_slots, self.stop_token, self.most_calls = num_slots, stop_token, most_calls
        self.events: list[Event] = []
        self.dead = False
        self.calls = 0
        self.inside: Callable[[int], str | None] | None = None
        self.beside: Callable[[], None] | None = None
        self._answer, self.tampers = answer, tampers
        self._stepping, self._asked = False, 0
        self._stopped = ""
        self._failure: BaseException | None = None
        self._odd_reply = False
        self._handed: list[tuple[Request, Ask]] = []
        self._build(make)

    def _build(self, make: Make) -> None:
        error = ""
        try:
            self.engine = make(self, self.num_slots, self.stop_token)
        except Exception as raised:
            error, self.dead = _kind(raised), True
        if error or self.num_slots < 1:
            self.events.append(Build(error))
            self.dead = True

    # -- What the caller does ----------------------------------------------------------------------------

    def add(self, ask: Ask) -> None:
        request = ask.request()
        self._handed.append((request, ask))
        error = self._tried(self.engine.add_request, request)
        self.events.append(Submit(ask.request_id, ask.prompt, ask.max_tokens, error))
        self._note_stop()

    def abort(self, request_id: str) -> None:
        error = self._tried(self.engine.abort_request, request_id)
        self.events.append(Abort(request_id, error))
        self._note_stop()

    def unfinished(self) -> bool:
        try:
            value = bool(self.engine.has_unfinished_requests())
        except Exception as error:
            self._stop(f"has_unfinished_requests raised {type(error).__name__}: {error}")
            self._note_stop()
            return False
        self.events.append(Unfinished(value))
        return value

    def step(self) -> None:
        """Step once. `inside` is called within the model's call; what it returns makes the call fail that way."""
        self.events.append(Begin())
        self._stepping, self._asked, self._failure, self._odd_reply = True, 0, None, False
        try:
            event: Event = _returned(self.engine.step())
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            event = self._raised(error)
        self._stepping = False
        if not self._stopped:
            self.events.append(event)
        self._note_stop()

    def _raised(self, error: BaseException) -> Event:
        if isinstance(error, RunStopped):
            self._stop(str(error))
        surfaced = self._odd_reply or (self._failure is not None and chained(error, self._failure))
        # A wrong number of tokens is an error that the engine raises itself; it is expected to go on after it.
        self.dead = self._failure is None and not self._odd_reply
        return Raise(type(error).__name__, str(error)[:200], surfaced)

    def _tried(self, method: Callable[[Any], Any], argument: Any) -> str:
        try:
            method(argument)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if isinstance(error, RunStopped):
                self._stop(str(error))
            return _kind(error)
        return ""

    def _stop(self, why: str) -> None:
        self._stopped = self._stopped or why

    def _note_stop(self) -> None:
        if self._stopped and not self.dead:
            self.events.append(Stopped(self._stopped))
            self.dead = True

    # -- What the model does -----------------------------------------------------------------------------

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        """Record the call, let things happen inside it, and answer it, or fail."""
        problem = malformed_batch(batch)
        rows = () if problem else tuple([tuple(row) for row in batch])
        self.events.append(Call(rows, problem))
        if problem or self._asked >= self.most_calls or not self._stepping:
            self._stop(problem or "a model call too many")
            raise RunStopped(self._stopped)
        self._asked += 1
        index, self.calls = self.calls, self.calls + 1
        if self.beside is not None:
            self.beside()
        failure = self.inside(index) if self.inside is not None else None
        replies = self._answer(rows)
        self._odd_reply = failure in ("short", "long")
        if failure == "short":
            replies = replies[:-1]
        elif failure == "long":
            replies = [*replies, self.stop_token]
        elif failure is not None:
            self.events.append(Reply(None))
            self._failure = EXCEPTIONS[failure]("the model failed")
            raise self._failure
        self.events.append(Reply(tuple(replies)))
        if self.tampers:
            for row in batch:
                row[:] = [self.stop_token, *row[1:], self.stop_token]
            batch.clear()
        return replies

    def close(self) -> None:
        close = getattr(getattr(self, "engine", None), "close", None)
        if callable(close):
            with suppress(Exception):
                close()

    def history(self, situation: Situation = "plain") -> History:
        return History(self.num_slots, self.stop_token, tuple(self.events), situation, self._changed())

    def _changed(self) -> str:
        for request, ask in self._handed:
            now = (request.request_id, request.prompt, request.max_tokens)
            if now != (ask.request_id, list(ask.prompt), ask.max_tokens):
                return f"request {ask.request_id!r} with prompt {list(ask.prompt)} became {now}"
        told = getattr(getattr(self, "engine", None), "inputs_changed", "")  # by an engine in another process
        return told if isinstance(told, str) else ""


def _kind(error: BaseException) -> str:
    return "ValueError" if isinstance(error, ValueError) else type(error).__name__


def _returned(value: Any) -> Return:
    """Take a step's outputs apart without trusting them."""
    if not isinstance(value, list):
        return Return((), value.problem if isinstance(value, Misshapen) else f"a {type(value).__name__}")
    outputs = []
    for entry in value:
        missing = object()
        name, token, reason = (getattr(entry, key, missing) for key in ("request_id", "token", "finish_reason"))
        if type(name) is not str or (token is not None and type(token) is not int):
            return Return((), f"the output {entry!r:.80}")
        if reason is not None and not isinstance(reason, str):
            return Return((), f"the output {entry!r:.80}")
        outputs.append(Output(name, token, reason))
    return Return(tuple(outputs))


def playing(player: Player, script: Script, patience: int = 1) -> Iterator[None]:
    """Play a script, and stand still after every step, so that other engines can be stepped in between.

    It is given up after `patience` times the steps that a right engine could need.
    """
    moves: dict[tuple[str, int], list[Move]] = defaultdict(list)
    for move in script.moves:
        moves[move.where, move.when].append(move)

    def perform(where: str, when: int) -> str | None:
        failure = None
        for move in moves.get((where, when), ()):
            if move.what == "fail":
                failure = move.kind
            elif move.what == "add":
                player.add(script.asks[move.which])
            else:
                player.abort(script.asks[move.which].request_id)
        return failure

    player.inside = partial(perform, "call")
    allowance = script.allowance() * patience
    for step in range(allowance):
        if player.dead:
            return
        perform("step", step)
        last = not player.dead and not player.unfinished() and step >= script.last_step
        if not player.dead:
            player.step()
        if last and not player.dead:
            player.unfinished()
            return
        yield
    if not player.dead:
        player.events.append(Stopped(f"{allowance} steps, more than any right engine needs"))


def started(make: Make, script: Script, most_calls: int = 1) -> Player:
    tampers = script.tampers
    return Player(make, script.num_slots, script.stop_token, script.reply, tampers=tampers, most_calls=most_calls)


def drive(make: Make, script: Script, seconds: float = SECONDS, *, most_calls: int = 1, patience: int = 1) -> History:
    """Play a script once, against an engine of its own, which is closed if it can be."""
    with deadline(seconds):
        player = started(make, script, most_calls)
        for _ in playing(player, script, patience):
            pass
        player.close()
    return player.history(script.situation)


def drive_beside(make: Make, first: Script, second: Script, *, nested: bool, seconds: float = SECONDS) -> list[History]:
    """Play two scripts on two engines: step by step in turn, or the second one's steps inside the first one's calls."""
    with deadline(seconds):
        players = [started(make, first), started(make, second)]
        lives = [playing(player, script) for player, script in zip(players, (first, second), strict=True)]
        if nested:
            players[0].beside = partial(next, lives[1], None)
        while lives:
            lives = [life for life in lives if next(life, lives) is not lives]
        for player in players:
            player.close()
    return [player.history(script.situation) for player, script in zip(players, (first, second), strict=True)]
