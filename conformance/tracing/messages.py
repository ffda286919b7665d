"""The lines of a trace, version 1. docs/traces.md says what each means, with examples."""

from __future__ import annotations

from typing import Literal

import msgspec

VERSION = 1
Profile = Literal["generate", "engine"]
Fact = Literal["tokens", "emissions", "endings", "results", "arrivals"]
Rows = Literal["prefixes", "named"]


class _Message(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, tag_field="type", kw_only=True):
    """`seq` numbers the lines from 0, in all of them or in none, so that a lost or moved line is noticed."""

    seq: int | None = None


class Header(_Message, tag="trace"):
    """The first line. `without` lists the facts that were not recorded; `allow` the promises waived by declaration."""

    version: int
    num_slots: int
    stop_token: int
    profile: Profile = "generate"
    rows: Rows = "prefixes"
    dialect: dict[str, str] = {}
    without: list[Fact] = []
    allow: list[str] = []


class Submit(_Message, tag="submit"):
    """A request came. `prompt` is its tokens, or how many they are; `error` names what refused it."""

    id: str
    prompt: list[int] | int
    max_tokens: int
    error: str = ""


class Abort(_Message, tag="abort"):
    """A request was cancelled."""

    id: str
    error: str = ""


class Call(_Message, tag="call"):
    """One model call: full prefixes in `rows`, or `[id, new tokens]` or `[id, new tokens, cached]` in `named`.

    A named row of null is a pad row. A token of null says that a row did no more than a part of its prompt.
    `outside`: no step of the engine was under way. `error`: the model raised. Without `tokens` and `error`, a
    `reply` follows.
    """

    rows: list[list[int]] | None = None
    named: list[list[str | int] | None] | None = None
    tokens: list[int | None] | None = None
    error: str = ""
    malformed: str = ""
    outside: bool = False


class Reply(_Message, tag="reply"):
    """What the model answered, where something happened while it computed."""

    tokens: list[int | None] | None = None
    error: str = ""


class Emit(_Message, tag="emit"):
    """What a step of an engine gave to its callers, as `[id, token or null, finish reason or null]`; the step ends."""

    outputs: list[tuple[str, int | None, str | None]]
    malformed: str = ""


class End(_Message, tag="end"):
    """A request ended in this step, for traces that record endings and not what was emitted."""

    id: str
    reason: str


class Unfinished(_Message, tag="unfinished"):
    """`has_unfinished_requests` was asked, and said this."""

    value: bool


class Result(_Message, tag="result"):
    """What a request's caller got from `generate`."""

    id: str
    tokens: list[int]


class Return(_Message, tag="return"):
    """`generate` returned; the results are the lines before. Nothing comes after it."""

    malformed: str = ""


class Raise(_Message, tag="raise"):
    """`generate` raised, or the engine's step. `surfaced`: it is the model's own exception, or chained to it."""

    kind: str
    message: str = ""
    surfaced: bool = False


class Stopped(_Message, tag="stopped"):
    """Whoever recorded gave up waiting. Nothing comes after it."""

    why: str


class Close(_Message, tag="close"):
    """An engine's trace is complete: no ending is still to come."""


Message = Submit | Abort | Call | Reply | Emit | End | Unfinished | Result | Return | Raise | Stopped | Close
Line = Header | Message
LAST = (Return, Stopped, Close)
