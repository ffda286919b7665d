"""A multi-level feedback queue, for comparison: who has had little goes first, and the quanta double.

The scheduler of FastServe: Bingyang Wu, Yinmin Zhong, Zili Zhang, Shengyu Liu, Fangyue Liu, Yuanhang Sun,
Gang Huang, Xuanzhe Liu and Xin Jin, "Fast Distributed Inference Serving for Large Language Models",
arXiv:2305.05920 (2023). Of its skip-join the skipping is left out: it spares a long prompt the levels whose
quantum its first call would exceed, and here each call takes one unit of time, whatever the prompt. Also as
there, who has waited for `starving` calls is promoted to the first level.
"""

from __future__ import annotations

from dataclasses import dataclass

from reference import engine
from reference.engine import Sequence, StepOutput
from reference.vocabulary import MockModel


@dataclass
class Standing:
    """Where a request stands: its level, the tokens it has had there, its turn in the line, the calls it has waited."""

    level: int
    turn: int
    had: int = 0
    waited: int = 0


class Engine(engine.Engine):
    """Those run that are first by level, and within a level by turn; level k is for `base` * 2**k tokens."""

    def __init__(
        self, model: MockModel, num_slots: int, stop_token: int, *, base: int, levels: int, starving: int
    ) -> None:
        super().__init__(model, num_slots, stop_token)
        self._base, self._lowest, self._starving = base, levels - 1, starving
        self._standing: dict[Sequence, Standing] = {}
        self._turns = 0

    def step(self) -> list[StepOutput]:
        """Step as ever, then count what each has had or waited."""
        outputs = super().step()
        for sequence, standing in self._standing.items():
            if sequence in self._slots:
                standing.had, standing.waited = standing.had + 1, 0
                if standing.had >= self._base << standing.level and standing.level < self._lowest:
                    self._put(standing, standing.level + 1)
            else:
                standing.waited += 1
                if standing.waited >= self._starving:
                    self._put(standing, 0)
        return outputs

    def _put(self, standing: Standing, level: int) -> None:
        self._turns += 1
        standing.level, standing.turn, standing.had, standing.waited = level, self._turns, 0, 0

    def _admit(self) -> None:
        running = [s for s in self._slots if s is not None and s.finish_reason is None]
        live = [*running, *self._waiting.values()]
        for sequence in live:
            if sequence not in self._standing:
                self._turns += 1
                self._standing[sequence] = Standing(0, self._turns)
        self._standing = {sequence: self._standing[sequence] for sequence in live}
        # Of one level, whoever runs goes on: to change places would cost a prefix, and gain nothing.
        live.sort(key=lambda s: (self._standing[s].level, s not in running, self._standing[s].turn))
        chosen = live[: len(self._slots)]
        self._waiting.clear()
        self._waiting |= {sequence.request_id: sequence for sequence in live[len(self._slots) :]}
        self._slots = [*chosen, *[None] * (len(self._slots) - len(chosen))]
