"""The wire, seen from the referee: what it sends, and the strict reading of what comes back.

`docs/protocol.md` is the specification. A message is one line that holds one JSON array. Whatever is
not exactly one of the messages below raises `Garbage`: the sender's fault, and never an error of the
referee.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from conformance.workloads import Workload
from reference.vocabulary import Dialect

VERSION = 1
LONGEST_LINE = 16 * 2**20  # bytes, the newline not counted
FREE_BYTES = 2**20  # of one run; more is weighed against what a right run sends
MOST_BYTES = 256 * 2**20  # of one run, however large
LONGEST_TEXT = 500  # characters

Text = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Row = tuple[int, ...]


class Garbage(Exception):
    """A line that is no message of the protocol; the text says what is wrong with it."""


class _Message(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True, gc=False):
    """Arrays and pairs only: JSON objects may repeat a key, and then readers disagree."""


class Hello(_Message, tag="hello", frozen=True):
    """The first line: `error` is empty when the implementation was loaded."""

    version: Count
    dialect: Annotated[tuple[tuple[Text, Text], ...], msgspec.Meta(max_length=16)]
    names: Annotated[tuple[Text, ...], msgspec.Meta(max_length=16)]
    abilities: Annotated[tuple[Text, ...], msgspec.Meta(max_length=16)]
    error: Text


class Called(_Message, tag="call", frozen=True):
    """Call number `call` of run `run`: one row for each sequence."""

    run: Count
    call: Count
    rows: tuple[Row, ...]


class Malformed(_Message, tag="malformed", frozen=True):
    """A call with a batch that is not a list of lists of ints."""

    run: Count
    call: Count
    problem: Text


class Finished(_Message, tag="return", frozen=True):
    """The run returned: pairs of a request id and its tokens; or `problem` says what came instead."""

    run: Count
    pairs: tuple[tuple[str, Row], ...]
    problem: Text
    inputs_changed: Text
    rows_changed: Text


class Failed(_Message, tag="raised", frozen=True):
    """The run raised an exception. `surfaced`: it is the model's own, or chained to it."""

    run: Count
    kind: Text
    message: Text
    surfaced: bool
    value_error: bool
    inputs_changed: Text
    rows_changed: Text


class Done(_Message, tag="done", frozen=True):
    """What was asked of engine `run` is done; `kind` is the class of what it raised, or empty."""

    run: Count
    kind: Text
    message: Text
    surfaced: bool
    value_error: bool


class Says(_Message, tag="says", frozen=True):
    """What `has_unfinished_requests` of engine `run` said."""

    run: Count
    value: bool


class Stepped(_Message, tag="stepped", frozen=True):
    """A step of engine `run` returned (request id, token, finish reason); or `problem` says what came."""

    run: Count
    outputs: tuple[tuple[str, int | None, Text | None], ...]
    problem: Text


class Closed(_Message, tag="closed", frozen=True):
    """Engine `run` is let go of."""

    run: Count
    inputs_changed: Text


class Forwarded(_Message, tag="forward", frozen=True):
    """Call number `call` of cached run `run`: a slot and its new tokens, for each row."""

    run: Count
    call: Count
    rows: tuple[tuple[int, Row], ...]


class Emptied(_Message, tag="reset", frozen=True):
    """Cached run `run` empties the line of a slot; or `problem` says what it named instead of one."""

    run: Count
    slot: int
    problem: Text


class Ended(_Message, tag="ended", frozen=True):
    """The process that served the runs is gone, with this exit status; below 0 it is minus a signal."""

    status: Annotated[int, msgspec.Meta(ge=-255, le=255)]


Core = Hello | Called | Malformed | Finished | Failed | Ended
Message = Core | Done | Says | Stepped | Closed | Forwarded | Emptied
_decode = msgspec.json.Decoder(Message).decode


def decoded(line: bytes) -> Message:
    """Read one line. Raises Garbage for anything but one message, and nothing else."""
    if len(line) > LONGEST_LINE:
        raise Garbage(f"a line of more than {LONGEST_LINE} bytes")
    try:
        return _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise Garbage(" ".join(str(error).split())[:LONGEST_TEXT]) from None


def dialect_of(hello: Hello) -> Dialect:
    """Build the declared dialect. Raises ValueError, naming what would be right, when there is none such."""
    return Dialect.of(dict(hello.dialect))


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def _line(*message: Any) -> bytes:
    # A lone surrogate in an id raises here, where it is the referee's error, and not on the way back.
    return _encode(message).encode() + b"\n"


FORK, END = _line("fork"), _line("end")


def choose(dialect: Dialect) -> bytes:
    return _line("choose", list(vars(dialect).items()))


def run(number: int, workload: Workload, *, inside: bool = False) -> bytes:
    """Open run `number`; `inside` the call that is open, or after the runs that were sent before."""
    fault, asks = workload.fault, [ask[:3] for ask in workload.asks]
    played = [fault.kind, fault.call, workload.otherwise] if fault and fault.kind in ("tampers", "keeps") else []
    return _line("inside" if inside else "run", number, asks, workload.num_slots, workload.stop_token, played)


def build(
    number: int, num_slots: int, stop_token: int, *, tampers: bool, otherwise: int, options: dict[str, int]
) -> bytes:
    """Make engine `number`; with `tampers` its model spoils the rows that it was handed."""
    played = ["tampers", 0, otherwise] if tampers else []
    return _line("build", number, num_slots, stop_token, played, [*options.items()])


def act(what: str, number: int, *given: Any) -> bytes:
    """Do something to an engine, at once, also when a call is open: add, abort, unfinished, step or close."""
    return _line(what, number, *given)


def cached(number: int, line: int, workload: Workload) -> bytes:
    """Open cached run `number`; those with the same `line` of 0 and more are given the same model object."""
    told: list[Any] = json.loads(run(number, workload))
    return _line("cached", number, line, *told[2:])


def reply(tokens: Sequence[int]) -> bytes:
    return b'["reply",%s]\n' % str(list(tokens)).encode()


def raises(kind: str) -> bytes:
    return _line("raise", kind)


def stop(why: str) -> bytes:
    return _line("stop", why[:LONGEST_TEXT])


def allowed_bytes(workload: Workload) -> int:
    """The most that one run may send, in bytes: four times what a right one could, and never little."""
    numbers = [workload.stop_token, workload.otherwise]
    numbers += [t for ask in workload.asks for t in (*ask.prompt, *ask.script)]
    width = max(len(str(number)) for number in numbers) + 2
    right = min(workload.allowance(), MOST_BYTES) * 4 * min(workload.num_slots, 10_000)
    for ask in workload.asks:
        most = max(0, ask.max_tokens)
        right += (most + 1) * (len(ask.prompt) + most + 1) * width + 6 * len(ask.request_id)
    return min(FREE_BYTES + 4 * right, MOST_BYTES)
