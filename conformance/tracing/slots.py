"""Where the live requests of a `generate` run stand, after each of its calls; what is over is forgotten.

It does what `conformance.attribution` does for clean calls, with no memory of the run. A call that is not clean
goes to that module itself, through `conformance.tracing.window`.
"""

from __future__ import annotations

import copy
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from conformance.attribution import shares_of
from conformance.history import Call
from conformance.workloads import Tokens
from reference.vocabulary import Dialect

MEMORY = 512  # requests of the past that are remembered, to say what an unexpected row was meant for
MAX_PADS = 64
NONE = -(2**63)  # stands for the reply to a row that did a part of a prompt


@dataclass(eq=False)
class Entry:
    """One request. `due` is its prefix now; `reason` how it finished."""

    number: int
    request_id: str
    prompt: Tokens
    max_tokens: int
    limit: int
    due: Tokens
    generated: list[int] = field(default_factory=list)
    reason: str | None = None
    admitted: bool = False


Owners = tuple[Entry | None, ...]


@dataclass
class Slots:
    """Requests by where they are.

    `over` are those that finished and yet go on having rows; `away` those that should have rows and have none.
    `owed` have finished, and their result has not come. `zeros` have nothing to generate, and none of those that
    wait after them has entered; `recent` is the past.
    """

    num_slots: int
    stop_token: int
    dialect: Dialect
    keeps_results: bool = True
    running: list[Entry] = field(default_factory=list)
    waiting: deque[Entry] = field(default_factory=deque)
    zeros: deque[Entry] = field(default_factory=deque)
    over: list[Entry] = field(default_factory=list)
    away: list[Entry] = field(default_factory=list)
    owed: dict[str, Entry] = field(default_factory=dict)
    recent: OrderedDict[int, Entry] = field(default_factory=OrderedDict)
    last_admitted: int = -1
    before: tuple[tuple[Tokens, ...], Owners, Tokens] | None = None
    pads: dict[Tokens, None] = field(default_factory=dict)
    pad_replies: dict[int, None] = field(default_factory=dict)

    def submit(self, entry: Entry) -> None:
        if entry.limit:
            self.waiting.append(entry)
            return
        self.zeros.append(entry)
        if self.keeps_results:
            self.owed[entry.request_id] = entry

    def live(self) -> int:
        """How many requests are held in memory."""
        past = {id(e) for e in (*self.owed.values(), *self.recent.values(), *self.zeros)}
        return len(past) + len(self.waiting) + len(self.running) + len(self.away) + len(self.over)

    def fork(self, owners: Owners) -> tuple[Slots, Owners]:
        """A copy that shares nothing that changes, and the same owners in it."""
        return copy.deepcopy((self, owners))

    # -- A call ------------------------------------------------------------------------------------------

    def settle(self, rows: Sequence[Tokens]) -> None:
        """Before a call: who was away and has a row is back; who went on too long and has none has stopped."""
        if self.over:
            self.over = [entry for entry in self.over if entry.due in rows]
        if self.away:
            self.running += [entry for entry in self.away if entry.due in rows]
            self.away = [entry for entry in self.away if entry.due not in rows]

    def entering(self) -> list[Entry]:
        room = self.num_slots - len(self.running) - len(self.over)
        return list(islice(self.waiting, max(0, room)))

    def owners(self, call: Call) -> Owners | None:
        """Whose each row is, None for a pad row; None for a call that is not as it should be."""
        required = [*self.running, *self.entering()]
        if call.malformed or not (required or self.over):
            return None
        free: dict[Tokens, list[Entry]] = {}
        for entry in (*required, *self.over):
            free.setdefault(entry.due, []).append(entry)
        owners: list[Entry | None] = []
        for row in call.rows:
            mine = free.get(row)
            owners.append(mine.pop(0) if mine else None)
        padded = self.dialect.batch == "padded"
        size = self.num_slots if padded else len(required) + len(self.over)
        if len(call.rows) != size or any(free.values()):
            return None
        return tuple(owners)

    def shares(self, call: Call, owners: Owners) -> list[Owners]:
        """Each way to give equal rows to their requests that makes a difference."""
        if len(set(call.rows)) == len(call.rows):
            return [owners]
        known = [owner for owner in owners if owner is not None]
        places = tuple(None if owner is None else known.index(owner) for owner in owners)
        return [tuple(None if p is None else known[p] for p in shared) for shared in shares_of(call, places)]

    def advance(self, call: Call, owners: Owners, replies: Sequence[int]) -> None:
        """Give each owner its token; who had none before has entered."""
        self._admit(owners)
        for row, owner, reply in zip(call.rows, owners, replies, strict=True):
            if owner is None:
                self.note_pad(row, reply)
            elif reply != NONE:
                self.grow(owner, row, reply)
        self.before = (call.rows, owners, tuple(replies))

    def grow(self, entry: Entry, row: Tokens, reply: int) -> None:
        """One more token of `entry`, whose row was `row`."""
        entry.due = (*row, reply)
        entry.generated.append(reply)
        if entry.reason is not None:
            return
        if reply == self.stop_token or len(entry.generated) >= entry.limit:
            entry.reason = "stop" if reply == self.stop_token else "length"
            self.running.remove(entry)
            self._remember(entry)
            if self.keeps_results:
                self.owed[entry.request_id] = entry

    def _admit(self, owners: Iterable[Entry | None]) -> None:
        wait = [o for o in owners if o is not None and not o.admitted]
        for entry in sorted(wait, key=lambda e: e.number):
            if self.waiting[0] is entry:
                self.waiting.popleft()
            else:
                self.waiting.remove(entry)
            self.running.append(entry)
            entry.admitted = True
            self.last_admitted = max(self.last_admitted, entry.number)
        while self.zeros and self.zeros[0].number < self.last_admitted:
            self._remember(self.zeros.popleft())

    def _remember(self, entry: Entry) -> None:
        self.recent[entry.number] = entry
        if len(self.recent) > MEMORY + self.num_slots:
            self.recent.popitem(last=False)

    def note_pad(self, row: Tokens, reply: int) -> None:
        if len(self.pads) < MAX_PADS:
            self.pads[row] = None
        if len(self.pad_replies) < MAX_PADS:
            self.pad_replies[reply] = None

    # -- The end -----------------------------------------------------------------------------------------

    def output(self, entry: Entry) -> Tokens:
        return tuple(self.dialect.output(entry.generated, self.stop_token))

    @property
    def unfinished(self) -> list[Entry]:
        return [*self.running, *self.waiting]
