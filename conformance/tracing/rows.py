"""Rows that name their request and count their tokens, turned into rows of tokens.

A trace of named rows may not say what a prompt holds, only how long it is. Each request then gets a prompt of
its own making, so that rows are told apart by their owner, and by their length, as the trace tells them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from conformance.tracing import messages as m
from conformance.tracing.reading import TraceError
from conformance.tracing.slots import MEMORY
from conformance.workloads import Tokens

MADE = -(2**62)  # prompts of our own making are below this
PAD = (-(2**61),)
SURPLUS = -(2**60)  # stands for a token more than a row should have


class Owner(Protocol):
    """What is known of a request."""

    prompt: Tokens
    due: Tokens


def tokens_of(message: m.Submit, number: int, header: m.Header, line: int) -> Tokens:
    """The prompt of a request, made up where rows are named."""
    prompt, made = message.prompt, MADE - number
    if header.rows == "named":
        if isinstance(prompt, int):
            return (made,) * max(0, prompt)
        return tuple(token if token == header.stop_token else made for token in prompt)
    if isinstance(prompt, int):
        raise TraceError(
            line, "a prompt by its length, where rows are full prefixes; give its tokens, or name the rows"
        )
    return tuple(prompt)


class Named:
    """The requests by their ids, and how much of each has been computed; the latest of the past ones too.

    `partial` are the places, in the last call, of rows that did no more than a part of a prompt.
    """

    def __init__(self) -> None:
        self._known: dict[str, Owner] = {}
        self._computed: dict[str, int] = {}
        self._past: OrderedDict[str, None] = OrderedDict()
        self.partial: set[int] = set()

    def __len__(self) -> int:
        return len(self._known)

    def enter(self, name: str, owner: Owner) -> None:
        self._known[name], self._computed[name] = owner, 0
        self._past.pop(name, None)

    def leave(self, name: str) -> None:
        """Remember a request that is over for a while only."""
        if name in self._known:
            self._past[name] = None
            self._past.move_to_end(name)
        while len(self._past) > MEMORY:
            old, _ = self._past.popitem(last=False)
            del self._known[old], self._computed[old]

    def rows(self, message: m.Call, line: int) -> tuple[Tokens, ...]:
        self.partial = set()
        if message.malformed:
            return ()
        if message.named is None:
            raise TraceError(line, "a call without `named`, which the header announces")
        tokens = message.tokens or [None] * len(message.named)
        if len(tokens) != len(message.named):
            raise TraceError(line, f"{len(tokens)} tokens for {len(message.named)} rows")
        known = message.tokens is not None
        pairs = enumerate(zip(message.named, tokens, strict=True))
        return tuple(self._row(place, row, token, known, line) for place, (row, token) in pairs)

    def _row(self, place: int, row: list[str | int] | None, token: int | None, known: bool, line: int) -> Tokens:
        if row is None:
            return PAD
        name, new, cached = _parts(row, line)
        owner = self._known.get(name)
        if owner is None:
            raise TraceError(line, f"a row of {name!r}, which no line before submits, or which ended long ago")
        total = (self._computed[name] if cached is None else cached) + new
        self._computed[name] = total
        due = owner.due
        if total < len(owner.prompt) and token is None:
            self.partial.add(place)
            return due
        if token is None and known:
            raise TraceError(line, f"no token for the row of {name!r}, which has its whole prompt")
        return due[:total] if total <= len(due) else (*due, *(SURPLUS,) * (total - len(due)))


def _parts(row: list[str | int], line: int) -> tuple[str, int, int | None]:
    name, new = row[:2] if len(row) > 1 else (None, None)
    cached = row[2] if len(row) == 3 else 0
    if (
        isinstance(name, str)
        and isinstance(new, int)
        and isinstance(cached, int)
        and new >= 0 <= cached
        and len(row) < 4
    ):
        return name, new, cached if len(row) == 3 else None
    raise TraceError(line, f"a named row is [id, new tokens] or [id, new tokens, cached], not {row}")
