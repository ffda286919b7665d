"""The state machine: Hypothesis plays the language model with its cache, while the implementation runs.

It sees whole rows before it decides what to say, ends requests one by one or all at once, and fails.
Two runs, each with a model of its own, may stand side by side.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from conformance.cached.catalogue import judge
from conformance.cached.history import CachedRun
from conformance.cached.mock import CachedMock
from conformance.cached.reading import attribute
from conformance.legs.machine import KINDS, STOP, LoopMachine, Violated, drain, scripted
from conformance.legs.stepping import SteppedRun
from conformance.run import Generate
from conformance.workloads import Ask, Workload
from reference.vocabulary import Dialect, Request


class CachedViolated(Violated):
    """`beside`: another run stood next to the one that went wrong."""

    beside = False


class CachedStep(SteppedRun):
    """A run that stands still at every forward, and records forwards and resets."""

    def __init__(self, generate_cached: Generate, workload: Workload) -> None:
        self.mock = CachedMock()

        def generate(model: Any, requests: list[Request], num_slots: int, stop_token: int) -> Any:
            self.mock.attach(model, workload)
            return generate_cached(self.mock, requests, num_slots, stop_token)

        super().__init__(generate, workload)

    def cached_record(self) -> CachedRun:
        """The run so far; the forward that waits is in it, unanswered."""
        run = self.record()
        return CachedRun(self.workload, tuple(self.mock.ops), run.outcome, run.inputs_changed)


class CachedMachine(LoopMachine):
    """Drives one implementation of the cached profile; prompts are long enough to be written in pieces."""

    watched: frozenset[str]

    def _start(self, kinds: list[tuple[int, int]], slots: int, equal: bool) -> None:
        asks: list[Ask] = []
        for index, (size, limit) in enumerate(kinds):
            base = 100 if equal else 100 * (index + 1)
            prompt = (base, base + 1, STOP, base + 2)[: 2 * size] or ((base,) if index else ())
            counted = len(prompt) if self.dialect.max_tokens == "total" else 0
            asks.append(Ask(f"r{index}", prompt, limit + counted))
        self.runs.append(CachedStep(type(self).generate, Workload(tuple(asks), slots, STOP)))
        self.said.append({})

    @precondition(lambda self: len(self.runs) == 1)
    @rule(kinds=st.lists(KINDS, min_size=1, max_size=3), slots=st.integers(1, 3))
    def begin_beside(self, kinds: list[tuple[int, int]], slots: int) -> None:
        """Start a second run, with another model, while the first one stands at a forward."""
        self._start(kinds, slots, False)

    @invariant()
    def history_is_right(self) -> None:
        for run, said in zip(self.runs, self.said, strict=True):
            assert isinstance(run, CachedStep)
            unended = run.outcome is None
            if unended and (run.workload.fault or not attribute(run.cached_record(), self.dialect).clean):
                drain(run, said)  # what it does next tells which promise it broke
            if run.outcome is not None:
                judgement = judge(run.cached_record(), self.dialect)
                if any(name in judgement.violations for name in self.watched):
                    violated = CachedViolated(scripted(run, said), judgement)
                    violated.beside = len(self.runs) > 1
                    raise violated


def machine_for(name: str, generate_cached: Generate, dialect: Dialect, watched: frozenset[str]) -> type[CachedMachine]:
    """Make the machine of one implementation, as a class with a name of its own; it raises for `watched` promises."""
    members: dict[str, Any] = {"generate": staticmethod(generate_cached), "dialect": dialect, "watched": watched}
    return type(f"CachedMachine_{name}", (CachedMachine,), members)
