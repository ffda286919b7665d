"""Where every request of an engine with a quantum stands: the ledger of the engine profile, with turns."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.engine.ledger import Entry, Ledger
from conformance.workloads import Tokens


@dataclass
class FairLedger(Ledger):
    """`yielding` are those of the running that the next call may not have; they wait when it is made.

    `had` says how many tokens each that runs had when it entered, and `yielded` who has ever made room;
    both by the number of the submission. `settled`: who runs was decided, and no step has returned since.
    """

    quantum: int = 1
    yielding: list[Entry] = field(default_factory=list)
    had: dict[int, int] = field(default_factory=dict)
    yielded: set[int] = field(default_factory=set)
    settled: bool = False

    @property
    def required(self) -> list[Entry]:
        """Whose rows the next call has."""
        return [entry for entry in self.running if entry not in self.yielding] + self.entering

    @property
    def resuming(self) -> list[Entry]:
        """Those of the call under way that had yielded and are back in it."""
        return [entry for entry in self.flight if self.resumes(entry)]

    def resumes(self, entry: Entry) -> bool:
        """Whether this request has made room before, so that what it gets now continues something."""
        return entry.number in self.yielded

    def begin(self, num_slots: int) -> None:
        super().begin(num_slots)
        self.yielding = []
        if self.settled:
            return
        left = list(self.waiting.values())[len(self.entering) :]
        due = [entry for entry in self.running if len(entry.generated) - self.had[entry.number] >= self.quantum]
        self.yielding = due[: len(left)]
        self.entering = self.entering + left[: len(self.yielding)]

    def ask(self, rows: tuple[Tokens, ...]) -> None:
        leaving, self.yielding = self.yielding, []
        for entry in leaving:
            self.running.remove(entry)
            entry.status = "waiting"
        super().ask(rows)
        self.waiting |= {entry.number: entry for entry in leaving}
        if leaving:
            known = {entry.number for entry in (*self.running, *self.waiting.values())}
            self.yielded = (self.yielded & known) | {entry.number for entry in leaving}
        self.had = {entry.number: self.had.get(entry.number, len(entry.generated)) for entry in self.running}
        self.settled = True

    def _over(self) -> None:
        super()._over()
        self.yielding = []
        self.settled = self.settled and self.failed is not None
