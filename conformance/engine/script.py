"""Inputs of an engine's life, as plain data: the requests, what the model says, and who does what when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from conformance.engine.events import Situation
from conformance.workloads import Ask, Disagreement, Tokens, Workload

Where = Literal["step", "call"]
What = Literal["add", "abort", "fail"]
FAILURES = ("raises", "short", "long")


class Move(NamedTuple):
    """One act of the environment: before step `when`, or inside call `when` (both counted from 0).

    `add` submits `asks[which]`, `abort` aborts the id of `asks[which]`, and `fail` lets the call fail:
    `kind` is the class of an exception, or `short` or `long`, for a reply of a wrong length.
    """

    where: Where
    when: int
    what: What
    which: int = 0
    kind: str = "ModelFailure"


@dataclass(frozen=True)
class Script:
    """One engine's input. `asks` may repeat ids; moves of one moment happen in their order.

    The engine is stepped until all moves are made and it says that nothing is unfinished, and once more.
    With `tampers`, the model spoils every row that it was handed, after it has answered.
    """

    asks: tuple[Ask, ...]
    moves: tuple[Move, ...]
    num_slots: int
    stop_token: int
    otherwise: int = 777
    tampers: bool = False

    @classmethod
    def of(
        cls,
        asks: Iterable[Sequence[Any]],
        moves: Iterable[Sequence[Any]],
        num_slots: int,
        stop_token: int,
        **more: Any,
    ) -> Script:
        """Build a script from rows of (request_id, prompt, max_tokens, replies) and of moves, as reports print them."""
        rows = tuple(Ask(i, tuple(prompt), limit, tuple(script)) for i, prompt, limit, script in asks)
        return cls(rows, tuple(Move(*move) for move in moves), num_slots, stop_token, **more)

    @cached_property
    def model(self) -> Workload:
        """What the model says to a prefix; raises `Disagreement` where the asks do not agree on it."""
        return Workload(self.asks, self.num_slots, self.stop_token, self.otherwise)

    def reply(self, rows: Sequence[Tokens]) -> list[int]:
        return self.model.reply(rows)

    @property
    def situation(self) -> Situation:
        if self.num_slots < 1 or any(ask.max_tokens < 0 for ask in self.asks):
            return "arguments"
        if self.tampers:
            return "tampers"
        return "reply" if any(move.kind in FAILURES[1:] for move in self.moves) else "plain"

    @cached_property
    def last_step(self) -> int:
        """The last step before which something is to happen."""
        return max((move.when for move in self.moves if move.where == "step"), default=0)

    def allowance(self) -> int:
        """More steps than any right engine needs."""
        failures = sum(move.what == "fail" for move in self.moves)
        adds = [self.asks[move.which] for move in self.moves if move.what == "add"]
        return self.last_step + sum(max(1, ask.max_tokens) for ask in adds) + failures + 4

    # -- Control experiments: the same life without one circumstance ------------------------------------

    def without_failures(self) -> Script:
        return replace(self, moves=tuple(move for move in self.moves if move.what != "fail"))

    def without_aborts(self) -> Script:
        """Nobody aborts; who came back under an old id comes under a new one."""
        return replace(self.with_distinct_ids(), moves=tuple(m for m in self.moves if m.what != "abort"))

    def without_duplicates(self) -> Script:
        """Each id is added once only."""
        seen: set[str] = set()
        kept = []
        for move in self.moves:
            identity = self.asks[move.which].request_id
            if move.what == "add" and identity in seen:
                continue
            seen |= {identity} if move.what == "add" else set()
            kept.append(move)
        return replace(self, moves=tuple(kept))

    def with_distinct_ids(self) -> Script:
        """Give every ask an id of its own; an abort names the ask that was added last under its id."""
        asks = tuple(ask._replace(request_id=f"{ask.request_id}#{i}") for i, ask in enumerate(self.asks))
        holder: dict[str, int] = {}
        moves = []
        for move in self.moves:
            identity = self.asks[move.which].request_id
            if move.what == "add":
                holder[identity] = move.which
            moves.append(move._replace(which=holder.get(identity, move.which)) if move.what == "abort" else move)
        return replace(self, asks=asks, moves=tuple(moves))

    def untampered(self) -> Script:
        return replace(self, tampers=False)

    # -- For people --------------------------------------------------------------------------------------

    def size(self) -> tuple[int, ...]:
        """An order for shrinking: fewer moves, then fewer tokens, then earlier moves."""
        tokens = sum(len(ask.prompt) + max(0, ask.max_tokens) for ask in self.asks)
        return (len(self.moves), tokens, self.num_slots, sum(move.when for move in self.moves))

    def code(self) -> str:
        """Print as code that can be pasted."""
        rows = [f"    ({a.request_id!r}, {list(a.prompt)}, {a.max_tokens}, {list(a.script)})," for a in self.asks]
        moves = [f"    {_printed(move)}," for move in self.moves]
        more = [f"num_slots={self.num_slots}", f"stop_token={self.stop_token}"]
        more += [f"otherwise={self.otherwise}"] if self.otherwise != 777 else []
        more += ["tampers=True"] if self.tampers else []
        return "\n".join(["Script.of([", *rows, "], [", *moves, f"], {', '.join(more)})"])


def _printed(move: Move) -> str:
    kept = tuple(move)[:4] if move.kind == "ModelFailure" else tuple(move)
    return repr(kept[:3] if move.what == "fail" and len(kept) == 4 else kept)


def smaller(script: Script) -> Iterable[Script]:
    """Yield the script with something left out or brought forward, as long as the model still agrees with itself."""
    for index, move in enumerate(script.moves):
        rest = (*script.moves[:index], *script.moves[index + 1 :])
        yield replace(script, moves=rest)
        if move.when:
            earlier = move._replace(when=move.when - 1)
            yield replace(script, moves=(*script.moves[:index], earlier, *script.moves[index + 1 :]))
    used = {move.which for move in script.moves if move.what != "fail"}
    for index in reversed(range(len(script.asks))):
        if index not in used:
            yield _without(script, index)
    if script.num_slots > 1:
        yield replace(script, num_slots=script.num_slots - 1)
    for index, ask in enumerate(script.asks):
        if ask.max_tokens > 1:
            less = ask._replace(max_tokens=ask.max_tokens - 1)
            yield replace(script, asks=(*script.asks[:index], less, *script.asks[index + 1 :]))


def _without(script: Script, index: int) -> Script:
    moves = tuple(m._replace(which=m.which - (m.which > index)) for m in script.moves)
    return replace(script, asks=(*script.asks[:index], *script.asks[index + 1 :]), moves=moves)


def shrunk(script: Script, still_fails: Any, tries: int = 2_000) -> Script:
    """Return the smallest script that greedy steps reach for which `still_fails` holds."""
    for _ in range(tries):
        found = next((other for other in smaller(script) if _agrees(other) and still_fails(other)), None)
        if found is None:
            return script
        script = found
    return script


def _agrees(script: Script) -> bool:
    try:
        script.model  # noqa: B018
    except Disagreement:
        return False
    return True
