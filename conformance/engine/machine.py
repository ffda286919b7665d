"""The state machine: Hypothesis plays the callers and the language model, while the engine lives.

It adds, steps, aborts between steps and from inside the model's call, uses ids again, lets calls fail, and
keeps two engines side by side. What comes next is decided when the engine has answered what came before;
after every act the events so far are judged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from conformance.engine.catalogue import Judgement, judged
from conformance.engine.drive import Make, Player
from conformance.engine.ledger import Settings
from conformance.engine.reading import Reading
from conformance.engine.script import Move, Script
from conformance.engine.targets import Studied
from conformance.workloads import Ask, Tokens
from reference.vocabulary import Dialect

STOP = 0
NAMES = ("a", "b", "c")  # few, so that they are often live, or used before
WHAT = st.sampled_from(["add", "abort", "again", "add"])  # again: an abort, and an arrival under the same id
ACTS = st.lists(st.tuples(WHAT, st.integers(0, 2), st.integers(0, 3)), max_size=3)


class Life:
    """One engine of the machine, with all that was done to it, so that it can be done again as a script."""

    def __init__(self, make: Make, slots: int, dialect: Dialect) -> None:
        self.asks: list[Ask] = []
        self.moves: list[Move] = []
        self.said: dict[Tokens, int] = {}
        self.plan: list[bool] = []
        self.steps, self.read, self.dialect = 0, 0, dialect
        self.player = Player(make, slots, STOP, self.answer)
        self.reading = Reading(Settings(slots, STOP, dialect))

    def answer(self, rows: Sequence[Tokens]) -> list[int]:
        """Give every new prefix a token of its own, or the stop token, as the plan of this step has it."""
        for row in rows:
            if row not in self.said:
                stops = self.plan.pop() if self.plan else False
                self.said[row] = STOP if stops else 100_000 + len(self.said)
        return [self.said[row] for row in rows]

    def act(self, what: Any, name: int, limit: int, where: Any, when: int) -> None:
        """Add or abort under a name; the request has a prompt that no other one has."""
        if what == "again":
            self.act("abort", name, limit, where, when)
            what = "add"
        place = len(self.asks)
        counted = 1 if self.dialect.max_tokens == "total" else 0
        self.asks.append(Ask(NAMES[name], (10 + place,), limit + counted))
        self.moves.append(Move(where, when, what, place))
        if what == "add":
            self.player.add(self.asks[-1])
        else:
            self.player.abort(NAMES[name])

    def step(self, plan: list[bool], acts: list[tuple[str, int, int]], fails: bool) -> None:
        def inside(call: int) -> str | None:
            for what, name, limit in acts:
                self.act(what, name, limit, "call", call)
            if fails:
                self.moves.append(Move("call", call, "fail"))
            return "ModelFailure" if fails else None

        self.plan, self.player.inside = list(plan), inside
        self.player.unfinished()
        if not self.player.dead:
            self.player.step()
        self.steps += 1

    def judge(self) -> Judgement | None:
        """Read what is new; what is wrong, if anything is."""
        for event in self.player.events[self.read :]:
            self.reading.feed(event)
        self.read = len(self.player.events)
        self.reading.changed = self.player.history().changed
        judgement = judged(self.reading)
        return judgement if judgement.violations else None

    def script(self) -> Script:
        """The script that brings the same life about again."""
        asks = []
        for ask in self.asks:
            prefix, replies = ask.prompt, []
            while prefix in self.said:
                replies.append(self.said[prefix])
                prefix = (*prefix, self.said[prefix])
            asks.append(ask._replace(script=tuple(replies)))
        return Script(tuple(asks), tuple(self.moves), self.player.num_slots, STOP, otherwise=STOP)


class Violated(AssertionError):
    """A life that the machine has brought about breaks a promise."""

    def __init__(self, life: Life, judgement: Judgement, beside: bool) -> None:
        super().__init__(", ".join(sorted(judgement.violations)))
        self.life, self.judgement, self.beside = life, judgement, beside


class EngineMachine(RuleBasedStateMachine):
    """Drives one implementation; `machine_for` makes a named subclass for each, so that none shares a database key."""

    subject: Studied
    seen: list[Violated]

    def __init__(self) -> None:
        super().__init__()
        self.lives: list[Life] = []
        self.make = self.subject.fresh()

    @initialize(slots=st.integers(1, 3))
    def build(self, slots: int) -> None:
        self.lives.append(Life(self.make, slots, self.subject.dialect))

    @precondition(lambda self: len(self.lives) == 1)
    @rule(slots=st.integers(1, 2))
    def build_beside(self, slots: int) -> None:
        """From here on there are two engines, with the same names."""
        self.build(slots)

    def _life(self, which: int) -> Life | None:
        life = self.lives[which % len(self.lives)]
        return None if life.player.dead else life

    @rule(
        which=st.integers(0, 1),
        what=st.sampled_from(["add", "add", "abort"]),
        name=st.integers(0, 2),
        limit=st.integers(0, 4),
    )
    def act(self, which: int, what: str, name: int, limit: int) -> None:
        if life := self._life(which):
            life.act(what, name, limit, "step", life.steps)
            self._look()

    @rule(which=st.integers(0, 1), plan=st.lists(st.booleans(), max_size=3))
    def step(self, which: int, plan: list[bool]) -> None:
        self._step(which, plan, [], False)

    @rule(which=st.integers(0, 1), plan=st.lists(st.booleans(), max_size=3), acts=ACTS, fails=st.booleans())
    def step_with_much_going_on(
        self, which: int, plan: list[bool], acts: list[tuple[str, int, int]], fails: bool
    ) -> None:
        self._step(which, plan, acts, fails)

    def _step(self, which: int, plan: list[bool], acts: list[tuple[str, int, int]], fails: bool) -> None:
        if life := self._life(which):
            life.step(plan, acts, fails)
            self._look()

    def _look(self) -> None:
        for life in self.lives:
            judgement = life.judge()
            if judgement is not None:
                self.seen.append(Violated(life, judgement, len(self.lives) > 1))
                raise self.seen[-1]


def machine_for(subject: Studied) -> type[EngineMachine]:
    """Make the machine of one implementation, as a class with a name of its own; `seen` takes what it finds."""
    members: dict[str, Any] = {"subject": subject, "seen": []}
    return type(f"EngineMachine_{re.sub(r'[^0-9A-Za-z]', '_', subject.name)}", (EngineMachine,), members)
