"""The state machine: Hypothesis plays the language model, while the implementation runs.

It sees the rows of a call before it decides the replies, so it can answer to what it sees: end the
request that ran longest, end all at once, answer neighbours alike, fail. Two runs may stand side by
side, advanced in any order. After every step the history so far is judged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from conformance.attribution import attribute
from conformance.catalogue import Judgement, judge
from conformance.legs.stepping import SteppedRun
from conformance.run import Generate
from conformance.workloads import Ask, ModelFailure, Tokens, Workload
from reference.vocabulary import Dialect

STOP = 0
FRESH = (1, 2, 300, -4, 2**31, 7)
KINDS = st.tuples(st.integers(0, 2), st.integers(0, 5))  # prompt length, limit


class Violated(AssertionError):
    """A history that the machine has brought about breaks an invariant."""

    def __init__(self, workload: Workload, judgement: Judgement) -> None:
        super().__init__(", ".join(sorted(judgement.violations)))
        self.workload, self.judgement = workload, judgement


class LoopMachine(RuleBasedStateMachine):
    """Drives one implementation; `machine_for` makes a named subclass for each, so that none shares a database key."""

    generate: Generate
    dialect: Dialect

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[SteppedRun] = []
        self.said: list[dict[Tokens, int]] = []

    @initialize(kinds=st.lists(KINDS, max_size=6), slots=st.integers(1, 4), equal=st.booleans())
    def begin(self, kinds: list[tuple[int, int]], slots: int, equal: bool) -> None:
        self._start(kinds, slots, equal)

    @precondition(lambda self: len(self.runs) == 1)
    @rule(kinds=st.lists(KINDS, min_size=1, max_size=3), slots=st.integers(1, 3))
    def begin_beside(self, kinds: list[tuple[int, int]], slots: int) -> None:
        """Start a second run while the first one stands at a call."""
        self._start(kinds, slots, False)

    def _start(self, kinds: list[tuple[int, int]], slots: int, equal: bool) -> None:
        asks: list[Ask] = []
        for index, (size, limit) in enumerate(kinds):
            base = 100 if equal else 100 * (index + 1)
            prompt = (base, STOP)[:size] if size and not equal else (base,) * size
            prompt = prompt or ((base,) if any(not a.prompt for a in asks) and not equal else ())
            counted = len(prompt) if self.dialect.max_tokens == "total" else 0
            asks.append(Ask(f"r{index}", prompt, limit + counted))
        self.runs.append(SteppedRun(type(self).generate, Workload(tuple(asks), slots, STOP)))
        self.said.append({})

    def _waiting(self, which: int) -> tuple[SteppedRun, dict[Tokens, int]] | None:
        index = which % len(self.runs)
        return (self.runs[index], self.said[index]) if self.runs[index].rows is not None else None

    @rule(which=st.integers(0, 1), choices=st.lists(st.integers(0, 8), min_size=4, max_size=4))
    def answer(self, which: int, choices: list[int]) -> None:
        """Answer row by row: choice 0 stops it, 8 repeats its neighbour's reply, the others are tokens."""
        found = self._waiting(which)
        if found is None:
            return
        run, said = found
        replies: list[int] = []
        for index, row in enumerate(run.rows or ()):
            choice = choices[index % len(choices)]
            token = STOP if choice == 0 else replies[-1] if choice == 8 and replies else FRESH[choice % len(FRESH)]
            replies.append(said.setdefault(row, token))
        run.answer(replies)

    @rule(which=st.integers(0, 1))
    def stop_the_longest(self, which: int) -> None:
        """End the request that has the longest row, and let the others go on."""
        found = self._waiting(which)
        if found is None:
            return
        run, said = found
        rows = run.rows or ()
        longest = max(rows, key=len, default=())
        run.answer([said.setdefault(row, STOP if row == longest else FRESH[len(row) % len(FRESH)]) for row in rows])

    @rule(which=st.integers(0, 1))
    def stop_all(self, which: int) -> None:
        """End every request of the call at once."""
        found = self._waiting(which)
        if found is not None:
            run, said = found
            run.answer([said.setdefault(row, STOP) for row in run.rows or ()])

    @precondition(lambda self: any(run.rows is not None and run.calls for run in self.runs))
    @rule(which=st.integers(0, 1))
    def fail(self, which: int) -> None:
        found = self._waiting(which)
        if found is not None:
            run, _ = found
            run.workload = run.workload.with_fault("raises", len(run.calls))
            run.fail(ModelFailure("the model failed"))

    @invariant()
    def history_is_right(self) -> None:
        for run, said in zip(self.runs, self.said, strict=True):
            if run.outcome is None and (run.workload.fault or not attribute(run.record(), self.dialect).clean):
                drain(run, said)  # what it does next tells which promise it broke
            if run.outcome is not None:
                judgement = judge(run.record(), self.dialect)
                if judgement.violations:
                    raise Violated(scripted(run, said), judgement)

    def teardown(self) -> None:
        for run in self.runs:
            run.close()


def drain(run: SteppedRun, said: dict[Tokens, int]) -> None:
    """Let a run come to its end: what was not asked before is answered with the stop token."""
    for _ in range(run.workload.allowance() + len(run.calls)):
        if run.rows is None:
            return
        run.answer([said.setdefault(row, STOP) for row in run.rows])
    run.close()


def scripted(run: SteppedRun, said: dict[Tokens, int]) -> Workload:
    """The workload that brings the same run about again, as plain data."""
    asks = []
    for ask in run.workload.asks:
        prefix, script = ask.prompt, list[int]()
        while prefix in said and len(script) < max(1, ask.max_tokens):
            script.append(said[prefix])
            prefix = (*prefix, said[prefix])
        asks.append(ask._replace(script=tuple(script)))
    return replace(run.workload, asks=tuple(asks), otherwise=STOP)


def machine_for(name: str, generate: Generate, dialect: Dialect) -> type[LoopMachine]:
    """Make the machine of one implementation, as a class with a name of its own."""
    members: dict[str, Any] = {"generate": staticmethod(generate), "dialect": dialect}
    return type(f"LoopMachine_{name}", (LoopMachine,), members)
