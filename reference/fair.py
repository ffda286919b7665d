"""The follow-up question on fairness, answered: an engine in which no request keeps the others out for long.

How long a request will be is not known before it ends, so nobody is asked. Whoever has had `quantum`
tokens in a row makes room for somebody who waits, and goes to the back of the queue; later it resumes from
its exact prefix. With j requests waiting ahead, a request first runs at the latest in call
ceil((j + 1) / num_slots) * quantum after its arrival. A call that is under way then does not count, nor does
one that failed, nor the one that takes its place (`reference/formal/fairness.py` proves it).

The price: the key/value cache of a request that yields is computed anew when it resumes, or is kept
somewhere meanwhile.
"""

from __future__ import annotations

from reference import engine
from reference.engine import Sequence, StepOutput
from reference.vocabulary import Dialect, MockModel


class Engine(engine.Engine):
    """Round robin: the engine of `engine.py`, in which running requests take turns with waiting ones.

    Free slots are filled first. Then as many of the running requests that had `quantum` tokens in a row
    yield as still wait, of them those first that were admitted first. Nobody yields while nobody waits, and
    a streak goes on until its request does yield. Raises ValueError for a quantum of less than 1.
    """

    def __init__(
        self, model: MockModel, num_slots: int, stop_token: int, *, quantum: int, dialect: Dialect = Dialect()
    ) -> None:
        super().__init__(model, num_slots, stop_token, dialect=dialect)
        if quantum < 1:
            raise ValueError(f"the quantum is {quantum}; it is at least 1 token")
        self._quantum = quantum
        self._had: dict[Sequence, int] = {}  # the running, in order of entry; how many tokens each had then
        self._turned = False  # who runs is settled until a step has returned

    def step(self) -> list[StepOutput]:
        """Let requests take turns, then step as ever. A step that raises is no turn: the next one makes its call."""
        outputs = super().step()
        self._turned = False
        return outputs

    def _admit(self) -> None:
        """Fill the free slots, then let those yield whose turn is over."""
        super()._admit()
        self._note_entries()
        if not self._turned:
            self._exchange()
        self._turned = True

    def _exchange(self) -> None:
        """Put the head of the queue in the place of each who yields, and the one who yields at its end."""
        due = [sequence for sequence, had in self._had.items() if len(sequence.generated) - had >= self._quantum]
        for sequence in due[: len(self._waiting)]:
            _, newcomer = self._waiting.popitem(last=False)
            self._slots[self._slots.index(sequence)] = newcomer
            self._waiting[sequence.request_id] = sequence
            del self._had[sequence]
            self._had[newcomer] = len(newcomer.generated)

    def _note_entries(self) -> None:
        """Forget who has left, and note who has entered a free slot."""
        running = dict.fromkeys(sequence for sequence in self._slots if sequence is not None)
        stayed = {sequence: had for sequence, had in self._had.items() if sequence in running}
        self._had = stayed | {sequence: len(sequence.generated) for sequence in running if sequence not in stayed}
