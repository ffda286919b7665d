"""What can be wrong with one event, each by a name that one invariant owns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Cause = Literal[
    # arrival/*
    "arrival refused",
    "not admitted",
    "jumped",
    "too many rows",
    "needless call",
    "call shape",
    "bad arguments taken",
    # stream/*
    "not built",
    "malformed rows",
    "wrong row",
    "row twice",
    "unknown row",
    "not held",
    "finished row",
    "row of nothing",
    "malformed outputs",
    "wrong token",
    "token twice",
    "output of nobody",
    "token missing",
    "finish early",
    "finish late",
    "finish misnamed",
    "ending missing",
    "ending twice",
    "ending out of order",
    "says finished",
    "says unfinished",
    "crashed",
    "never ends",
    # abort/*
    "aborted row",
    "aborted seat",
    "token after abort",
    "abort raised",
    "lost beside an abort",
    "lost to an early abort",
    # id/*
    "reuse refused",
    "lost as a newcomer",
    "token to a newcomer",
    "duplicate taken",
    "lost to a duplicate",
    # failure/*
    "swallowed",
    "replaced",
    "lost after a failure",
    "ending lost in a failure",
    "odd reply taken",
    "lost after an odd reply",
]


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with the diverging event: event number `event`, in step number `step`, from 0 and 1."""

    cause: Cause
    expected: str
    observed: str
    request_id: str | None = None
    event: int = 0
    step: int = 0

    def at(self, event: int, step: int) -> Fault:
        return replace(self, event=event, step=step)
