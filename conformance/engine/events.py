"""The record of an engine's life: what its caller and its model did, and what it answered, in order.

A recorded trace is such a list too; nothing in it is known only to the referee.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from conformance.workloads import Tokens

Situation = Literal["plain", "arguments", "tampers", "reply"]


class Output(NamedTuple):
    """A `StepOutput`, taken apart. `finish_reason` is not checked here."""

    request_id: str
    token: int | None
    finish_reason: str | None


@dataclass(frozen=True, slots=True)
class Build:
    """`Engine(...)` was called. Recorded only where it raised, or should have; `error` is the class, or empty."""

    error: str = ""


@dataclass(frozen=True, slots=True)
class Submit:
    """`add_request` was called. `error` names what it raised, "ValueError" for any kind of it, or is empty."""

    request_id: str
    prompt: Tokens
    max_tokens: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class Abort:
    """`abort_request` was called; `error` as in `Submit`."""

    request_id: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Begin:
    """`step` was called."""


@dataclass(frozen=True, slots=True)
class Call:
    """`next_tokens` was called. `malformed` says what keeps the batch from being a list of lists of ints."""

    rows: tuple[Tokens, ...]
    malformed: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The model answered the call; None where it raised. What stands between `Call` and `Reply` was done inside it."""

    tokens: Tokens | None


@dataclass(frozen=True, slots=True)
class Return:
    """The step returned these; `malformed` says what is not a list of step outputs."""

    outputs: tuple[Output, ...]
    malformed: str = ""


@dataclass(frozen=True, slots=True)
class Raise:
    """The step raised. `surfaced`: the model's own exception, itself or chained; or anything, for an odd reply."""

    kind: str
    message: str = ""
    surfaced: bool = False


@dataclass(frozen=True, slots=True)
class Unfinished:
    """`has_unfinished_requests` was asked, between steps, and said this."""

    value: bool


@dataclass(frozen=True, slots=True)
class Stopped:
    """The referee gave up; `why` says after what."""

    why: str


Event = Build | Submit | Abort | Begin | Call | Reply | Return | Raise | Unfinished | Stopped


@dataclass(frozen=True)
class History:
    """One engine's life, or the beginning of it. `changed` says what was altered in requests, or is empty."""

    num_slots: int
    stop_token: int
    events: tuple[Event, ...]
    situation: Situation = "plain"
    changed: str = ""

    def with_events(self, events: Iterable[Event]) -> History:
        return replace(self, events=tuple(events))


AFTER: dict[str, tuple[type, ...]] = {
    "idle": (Submit, Abort, Begin, Unfinished, Call, Stopped),  # a call outside of a step can be seen, but is wrong
    "begun": (Call, Return, Raise, Stopped),
    "asked": (Submit, Abort, Reply, Stopped),
    "ended": (Build,),
}


def malformed(events: Iterable[Event]) -> str:
    """Say what cannot have been observed in this order; a malformed history is its recorder's error."""
    phase = "idle"
    for number, event in enumerate(events):
        if isinstance(event, Build) and number == 0:
            phase = "ended" if event.error else "idle"
        elif not isinstance(event, AFTER[phase]):
            return f"event {number}, {type(event).__name__}, cannot come here"
        else:
            phase = _next(phase, event)
    return ""


def _next(phase: str, event: Event) -> str:
    if isinstance(event, Begin | Reply):
        return "begun"
    if isinstance(event, Call):
        return "asked"
    if isinstance(event, Return | Raise):
        return "idle"
    return "ended" if isinstance(event, Stopped) else phase
