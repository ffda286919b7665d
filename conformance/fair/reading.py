"""A history of an engine with a quantum, read once: by the ledger up to its divergence, by the watch to its end."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.engine.events import Call, Event, History, Return
from conformance.engine.ledger import Settings
from conformance.engine.reading import Reading
from conformance.fair import turns
from conformance.fair.ledger import FairLedger
from conformance.fair.turns import TurnFault
from conformance.fair.waits import Watch
from reference.vocabulary import Dialect


@dataclass
class FairReading(Reading):
    """`turn_faults` are those that only turns explain; where there are some, the engine profile's are not asked."""

    quantum: int = 1
    turn_faults: list[TurnFault] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ledger: FairLedger = FairLedger(quantum=self.quantum)
        self.watch = Watch(self.settings, self.quantum)

    @property
    def clean(self) -> bool:
        return not self.faults and not self.turn_faults

    def feed(self, event: Event) -> bool:
        """Read one more event; false from the divergence on, when only the watch goes on."""
        self.watch.feed(event)
        if not self.clean:
            return False
        found = self._turn_faults(event)
        if found:
            self.turn_faults = [fault.at(self.events, self.steps) for fault in found]
            return False
        self._note_turns(event)
        resuming = list(self.ledger.resuming)
        right = super().feed(event)
        if not right and resuming and isinstance(event, Return):
            claimed = turns.of_outputs(self.ledger, self.faults)
            if claimed:
                self.turn_faults, self.faults = [fault.at(self.events - 1, self.steps) for fault in claimed], []
        return right

    def _turn_faults(self, event: Event) -> list[TurnFault]:
        if isinstance(event, Call):
            return turns.judged(self.ledger, self.settings, event)
        if isinstance(event, Return) and self.ledger.phase == "begun":
            return turns.none_made(self.ledger)
        return []

    def _note_turns(self, event: Event) -> None:
        if not isinstance(event, Call):
            return
        back = [entry for entry in self.ledger.entering if self.ledger.resumes(entry)]
        self.note(
            somebody_yields=bool(self.ledger.yielding),
            somebody_resumes=bool(back),
            resumes_beside_others_that_wait=bool(back) and len(self.ledger.waiting) > len(self.ledger.entering),
            waits_behind_another=self.watch.longest_lead > 0,
        )


def read(history: History, dialect: Dialect, quantum: int) -> FairReading:
    """Read a whole history."""
    settings = Settings(history.num_slots, history.stop_token, dialect)
    reading = FairReading(settings, history.situation, history.changed, quantum=quantum)
    for event in history.events:
        reading.feed(event)
    return reading
