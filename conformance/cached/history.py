"""The record of a cached run: its forwards and resets in order, and what its lines held before and after each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from conformance.history import Call, Outcome, Run
from conformance.workloads import Tokens, Workload

Row = tuple[int, Tokens]
Lines = dict[int, Tokens]  # by slot; a line that is not there is empty


class Forward(NamedTuple):
    """One `forward`: (slot, new tokens) as handed over, and the replies; None where the model raised.

    `malformed` says what is wrong with a batch that is not a list of (slot, new tokens) tuples; it
    has no rows then.
    """

    rows: tuple[Row, ...]
    replies: Tokens | None
    malformed: str = ""

    @property
    def answered(self) -> bool:
        return self.replies is not None and len(self.replies) == len(self.rows)


class Reset(NamedTuple):
    """One `reset`. `malformed` says what is wrong with a slot that is not an int."""

    slot: int
    malformed: str = ""


Op = Forward | Reset


@dataclass(frozen=True)
class CachedRun:
    """One run of one workload. `before` is what the lines held when it began: nothing, with a new model."""

    workload: Workload
    ops: tuple[Op, ...]
    outcome: Outcome
    inputs_changed: str = ""
    rows_changed: str = ""
    before: tuple[Row, ...] = ()

    @property
    def forwards(self) -> tuple[Forward, ...]:
        return tuple(op for op in self.ops if isinstance(op, Forward))


def outside(slot: int, num_slots: int) -> bool:
    """Whether there is no such slot. -1 is none, whatever an array of lines would do with it."""
    return not 0 <= slot < num_slots


def replayed(run: CachedRun) -> Iterator[tuple[Op, Lines]]:
    """Yield every operation with the lines as they were before it. The dict is changed in place."""
    lines: Lines = {slot: line for slot, line in run.before if line}
    for op in run.ops:
        yield op, lines
        if isinstance(op, Reset):
            lines.pop(op.slot, None)
        elif op.replies is not None:
            for slot, new in op.rows:
                lines[slot] = lines.get(slot, ()) + new


def left_over(run: CachedRun) -> Lines:
    """What the lines hold after the last operation."""
    after: Lines = dict(run.before)
    for _, lines in replayed(run):
        after = lines
    return {slot: line for slot, line in after.items() if line}


def whole_rows(forward: Forward, lines: Lines) -> tuple[Tokens, ...]:
    """What the model sees of each row: the line and the new tokens."""
    return tuple([lines.get(slot, ()) + new for slot, new in forward.rows])


def unplaceable(forward: Forward, num_slots: int) -> str:
    """Say why the rows of a forward cannot be written into lines, or nothing."""
    if forward.malformed:
        return forward.malformed
    seen = set()
    for slot, _ in forward.rows:
        if outside(slot, num_slots):
            return f"a row for slot {slot} of {num_slots}"
        if slot in seen:
            return f"two rows for slot {slot}"
        seen.add(slot)
    return ""


def recovered(run: CachedRun) -> Run:
    """The core's record of the same run: every row is what the model saw, the line and the new tokens.

    This loses nothing that the core's invariants speak of, because the mock has no other memory.
    """
    calls = []
    for op, lines in replayed(run):
        if isinstance(op, Forward):
            problem = unplaceable(op, run.workload.num_slots)
            calls.append(Call((), (), problem) if problem else Call(whole_rows(op, lines), op.replies))
    return Run(run.workload, tuple(calls), run.outcome, run.inputs_changed, run.rows_changed)
