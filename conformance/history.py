"""The record of a run: everything about an implementation that can be observed, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from conformance.workloads import Tokens, Workload


class Call(NamedTuple):
    """One `next_tokens`: the rows as they were handed over, and the replies; None where the model raised.

    `malformed` says what is wrong with a batch that is not a list of lists of ints; it has no rows then.
    """

    rows: tuple[Tokens, ...]
    replies: Tokens | None
    malformed: str = ""


@dataclass(frozen=True)
class Returned:
    """A dict came back; pairs, so that nothing hides. `malformed` says what is not a list of ints, or not a dict."""

    pairs: tuple[tuple[str, Tokens], ...]
    malformed: str = ""


@dataclass(frozen=True)
class Raised:
    """An exception came back. `surfaced`: it is the model's own, or chained to it (`__cause__`, `__context__`)."""

    kind: str
    message: str = ""
    surfaced: bool = False
    value_error: bool = False


@dataclass(frozen=True)
class Unended:
    """Nothing came back: the run was stopped, `why` says after what."""

    why: str


@dataclass(frozen=True)
class Ongoing:
    """The run stands at a model call; it says nothing yet about how it ends."""


Outcome = Returned | Raised | Unended | Ongoing


@dataclass(frozen=True)
class Run:
    """One run of one workload.

    `inputs_changed` and `rows_changed` say what was altered that was not the implementation's to
    alter, or are empty.
    """

    workload: Workload
    calls: tuple[Call, ...]
    outcome: Outcome
    inputs_changed: str = ""
    rows_changed: str = ""
