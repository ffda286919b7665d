"""The strict reading of what comes from the two processes. What one tells the other is passed on as it is."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from conformance.grading.protocol import LONGEST_TEXT, Count, Garbage, Text, _line, _Message

FORK = _line("fork")
OutcomeKind = Literal["passed", "failed", "timeout", "crashed", "invalid"]


class Asks(_Message, tag="run", frozen=True):
    """The tests begin run `run`."""

    run: Count
    body: msgspec.Raw


class Replies(_Message, tag="reply", frozen=True):
    """Their language model has answered."""

    run: Count
    body: msgspec.Raw


class Raises(_Message, tag="raise", frozen=True):
    """Their language model has raised an exception."""

    run: Count
    body: msgspec.Raw


class Test(_Message, tag="test", frozen=True):
    """A test begins."""

    name: Text


class Result(_Message, tag="result", frozen=True):
    """What became of the tests: how many passed, and which one failed first, and why."""

    outcome: Literal["passed", "failed", "crashed", "invalid"]
    passed: Count
    test: Text
    why: Text


class Forked(_Message, tag="forked", frozen=True):
    """A fork begins; `digest` is that of the secret which its end will be told with."""

    digest: Annotated[str, msgspec.Meta(min_length=64, max_length=64)]


class Over(_Message, tag="ended", frozen=True):
    """It has ended. `clean`: nothing is left of it."""

    status: Annotated[int, msgspec.Meta(ge=-255, le=255)]
    secret: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
    clean: bool


class Calls(_Message, tag="call", frozen=True):
    """The implementation calls the language model."""

    run: Count
    body: msgspec.Raw


class Returns(_Message, tag="return", frozen=True):
    """A run has returned."""

    run: Count
    body: msgspec.Raw


class Raised(_Message, tag="raised", frozen=True):
    """A run has raised an exception."""

    run: Count
    body: msgspec.Raw


FromTests = Asks | Replies | Raises | Test | Result | Forked | Over
FromImplementation = Calls | Returns | Raised
_tests = msgspec.json.Decoder(FromTests).decode
_implementation = msgspec.json.Decoder(FromImplementation).decode


def from_tests(line: bytes) -> FromTests:
    """Read one line of the tests' process. Raises Garbage."""
    try:
        return _tests(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise Garbage(" ".join(str(error).split())[:LONGEST_TEXT]) from None


def from_implementation(line: bytes) -> FromImplementation:
    """Read one line of the implementation's process. Raises Garbage."""
    try:
        return _implementation(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise Garbage(" ".join(str(error).split())[:LONGEST_TEXT]) from None
