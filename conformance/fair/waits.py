"""How long anybody waits for its first row, whoever the engine lets run: a watch that knows no policy.

It follows what the engine does, so it goes on where the ledger, which follows what the engine should do,
has come to its end. It gives up where it cannot tell whose a row is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from conformance.engine.events import Abort, Begin, Call, Event, Raise, Reply, Return, Submit
from conformance.engine.ledger import Settings
from conformance.workloads import Tokens


@dataclass(eq=False)
class Waiter:
    """A request that is not over. `missed` counts the calls since it came that it was not in; `most` are allowed."""

    request_id: str
    due: Tokens
    limit: int
    ahead: int
    most: int
    missed: int = 0
    given: int = 0
    seated: bool = False
    ran: bool = False


@dataclass(frozen=True)
class Late:
    """Somebody has waited too long: in step `step`, at event `event`."""

    request_id: str
    ahead: int
    most: int
    event: int
    step: int


@dataclass
class Watch:
    """All that are not over, by id, and the first that has waited too long."""

    settings: Settings
    quantum: int
    late: Late | None = None
    lost: bool = False
    longest_lead: int = 0
    _waiters: dict[str, Waiter] = field(default_factory=dict)
    _call: list[Waiter] = field(default_factory=list)
    _rows: tuple[Tokens, ...] = ()
    _again: bool = False  # a call is under way, or is to be repeated: it does not count for who comes now
    _event: int = -1
    _step: int = 0

    def feed(self, event: Event) -> None:
        """Look at one more event."""
        self._event += 1
        if self.lost or self.late:
            return
        if isinstance(event, Submit):
            self._submitted(event)
        elif isinstance(event, Abort):
            self._waiters.pop(event.request_id, None)
        elif isinstance(event, Begin):
            self._step += 1
        elif isinstance(event, Call):
            self._called(event)
        elif isinstance(event, Reply):
            self._replied(event)
        elif isinstance(event, Raise | Return):
            self._again = isinstance(event, Raise)

    def _submitted(self, event: Submit) -> None:
        limit = 0 if event.error else self.settings.limit(event.prompt, event.max_tokens)
        if limit and event.request_id not in self._waiters:
            ahead = sum(not waiter.seated for waiter in self._waiters.values())
            most = -(-(ahead + 1) // self.settings.num_slots) * self.quantum - 1 + self._again
            self._waiters[event.request_id] = Waiter(event.request_id, event.prompt, limit, ahead, most)
            self.longest_lead = max(self.longest_lead, ahead)

    def _called(self, event: Call) -> None:
        rows, owned = Counter(event.rows), list(self._waiters.values())
        wanted = Counter(waiter.due for waiter in owned)
        padded = self.settings.dialect.batch == "padded"
        unclear = any(wanted[row] > 1 and wanted[row] != count for row, count in rows.items())
        if event.malformed or unclear or (rows.keys() - wanted.keys() and not padded):
            self.lost = True
            return
        self._rows, self._call, self._again = event.rows, [waiter for waiter in owned if rows[waiter.due]], True
        for waiter in owned:
            waiter.seated = waiter in self._call

    def _replied(self, event: Reply) -> None:
        if event.tokens is None or len(event.tokens) != len(self._rows):
            return
        said = dict(zip(self._rows, event.tokens, strict=True))
        for waiter in self._call:
            waiter.ran = True
            token = said[waiter.due]
            waiter.due, waiter.given = (*waiter.due, token), waiter.given + 1
            over = token == self.settings.stop_token or waiter.given == waiter.limit
            if over and self._waiters.get(waiter.request_id) is waiter:
                del self._waiters[waiter.request_id]
        for waiter in self._waiters.values():
            if not waiter.ran:
                waiter.missed += 1
                if waiter.missed > waiter.most and self.late is None:
                    self.late = Late(waiter.request_id, waiter.ahead, waiter.most + 1, self._event, self._step)
