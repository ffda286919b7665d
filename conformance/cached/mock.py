"""The mock: a language model with cache lines, which stores token ids where a real one stores keys and values.

What it sees of a row is exactly what the line holds, so a stale, doubled or misplaced token changes
the prefix and with it the reply. The replies come from a source that knows whole prefixes only: the
workload's tree, or somebody who decides them one by one.
"""

from __future__ import annotations

from typing import Any, Protocol

from conformance.cached.history import Forward, Op, Reset, Row, unplaceable
from conformance.run import Misshapen, Recorder, RunStopped
from conformance.workloads import Tokens, Workload


class Source(Protocol):
    """Who answers: sees whole rows, as the core's model does."""

    def next_tokens(self, batch: list[list[int]]) -> list[int]: ...


class Replies(Recorder):
    """The model of a workload, patient enough for prompts that are written a token at a time."""

    def __init__(self, workload: Workload, inside: Any = None) -> None:
        super().__init__(workload, inside)
        self._allowed = workload.allowance() + sum(len(ask.prompt) for ask in workload.asks)


class CachedMock:
    """One model object with its lines. They outlive a run: `attach` begins the next one with what is in them."""

    def __init__(self) -> None:
        self.lines: dict[int, list[int]] = {}
        self.number = -1  # in another process, where there is one

    def attach(self, source: Source, workload: Workload) -> None:
        """Begin a run: answer from `source`, and record from here."""
        self._source, self.workload = source, workload
        self.before = tuple((slot, tuple(line)) for slot, line in sorted(self.lines.items()) if line)
        self.ops: list[Op] = []
        self.stopped = ""
        self._longest = 64 + 4 * max((len(a.prompt) + max(0, a.max_tokens) for a in workload.asks), default=10**9)
        self._kept: list[tuple[list[int], Tokens]] = []

    def forward(self, batch: list[tuple[int, list[int]]]) -> list[int]:
        """Answer every row with the token after its line and the new tokens, and append these to the line."""
        asked = read(batch)
        problem = unplaceable(asked, self.workload.num_slots)
        if problem:
            self._stop(asked, problem)
        self._bounded(asked)
        place = len(self.ops)
        self.ops.append(asked)
        try:
            tokens = self._source.next_tokens([[*self.lines.get(slot, ()), *new] for slot, new in asked.rows])
        except RunStopped:
            del self.ops[place:]
            raise
        self.ops[place] = asked._replace(replies=tuple(tokens))
        for slot, new in asked.rows:
            self.lines.setdefault(slot, []).extend(new)
        self._meddle(batch, asked.rows)
        return tokens

    def reset(self, slot: int) -> None:
        """Empty a line."""
        odd = slot.problem if isinstance(slot, Misshapen) else f"a slot of type {type(slot).__name__}"
        asked = Reset(slot) if type(slot) is int else Reset(-1, odd)
        if asked.malformed or not 0 <= slot < self.workload.num_slots:
            self._stop(asked, asked.malformed or f"a reset of slot {slot} of {self.workload.num_slots}")
        self.ops.append(asked)
        self.lines.pop(slot, None)

    def _stop(self, op: Op, problem: str) -> None:
        self.ops.append(op)
        self.stopped = self.stopped or problem
        raise RunStopped(problem)

    def _bounded(self, asked: Forward) -> None:
        """Stop a run whose lines only grow: long past its first fault, each call would cost more than the last."""
        for slot, new in asked.rows:
            if len(self.lines.get(slot, ())) + len(new) > self._longest:
                self.stopped = self.stopped or f"more than {self._longest} tokens in the line of slot {slot}"
                raise RunStopped(self.stopped)

    def _meddle(self, batch: list[tuple[int, list[int]]], rows: tuple[Row, ...]) -> None:
        """Do with the lists that were handed over what the workload's fault says: keep them, or spoil them."""
        fault = self.workload.fault
        if fault is None or fault.kind not in ("keeps", "tampers"):
            return
        if sum(isinstance(op, Forward) for op in self.ops) <= fault.call:
            return
        if fault.kind == "keeps":
            self._kept += [(new, seen) for (_, new), (_, seen) in zip(batch, rows, strict=True)]
            return
        for _, new in batch:
            new[:] = [self.workload.stop_token, *new[1:], self.workload.otherwise]
        batch.clear()

    def rows_changed(self) -> str:
        """Say which of the kept lists is not as it was handed over."""
        for new, seen in self._kept:
            if tuple(new) != seen:
                return f"the new tokens {list(seen)} were {new[:20]} at the end"
        return ""


def read(batch: Any) -> Forward:
    """Take a batch down without trusting it."""
    if type(batch) is not list:
        said = batch.problem if isinstance(batch, Misshapen) else f"a batch of type {type(batch).__name__}"
        return Forward((), None, said)
    rows = []
    for row in batch:
        if type(row) is not tuple or len(row) != 2:
            return Forward((), None, f"a row of type {type(row).__name__}, not a (slot, new tokens) tuple")
        slot, new = row
        if type(slot) is not int:
            return Forward((), None, f"a slot of type {type(slot).__name__}")
        if type(new) is not list:
            return Forward((), None, f"new tokens of type {type(new).__name__}")
        odd = set(map(type, new)) - {int}
        if odd:
            return Forward((), None, f"a token of type {', '.join(sorted(kind.__name__ for kind in odd))}")
        rows.append((slot, tuple(new)))
    return Forward(tuple(rows), None)
