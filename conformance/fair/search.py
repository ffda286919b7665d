"""Random search beyond the small scope: whole scripts, and a machine that decides while the engine runs."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from conformance.engine.drive import Player
from conformance.engine.events import Stopped
from conformance.engine.ledger import Settings
from conformance.engine.script import Move
from conformance.fair.catalogue import judged
from conformance.fair.reading import FairReading
from conformance.fair.script import FairScript
from conformance.fair.study import Finding, Study
from conformance.workloads import Ask, Tokens

RANDOM, MACHINE = "random scripts", "state machine"
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example]
CHOSEN: dict[str, Any] = {"suppress_health_check": QUIET, "deadline": None, "report_multiple_bugs": False}
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
MOST = 12  # tokens of a random request


class Broken(AssertionError):
    """A violation, so that Hypothesis goes on to a smaller one."""


@st.composite
def scripts(draw: st.DrawFn) -> FairScript:
    """Up to 9 requests, 4 slots, a quantum of 5, with aborts, failing calls and ids that come back."""
    size, stop = draw(st.integers(1, 9)), draw(st.sampled_from([0, -1, 2, 50_256, 2**40]))
    asks, moves = [], []
    for place in range(size):
        length, base = draw(st.integers(0, MOST)), 1000 * (place + 1)
        ends = draw(st.none() | st.integers(1, MOST))
        replies = tuple(stop if k + 1 == ends else base + k for k in range(MOST + 2))
        prompt = tuple(base + 500 + k for k in range(draw(st.integers(1, 3))))
        asks.append(Ask(f"r{place if draw(st.integers(0, 5)) else 0}", prompt, length, replies))
        moves.append(draw(_moves("add", place)))
    for _ in range(draw(st.integers(0, 3))):
        moves.append(draw(_moves("abort", draw(st.integers(0, size - 1)))))
    for call in draw(st.sets(st.integers(0, 12), max_size=3)):
        moves.append(Move("call", call, "fail"))
    moves.sort(key=lambda move: (move.when, move.where == "call"))
    return FairScript(tuple(asks), tuple(moves), draw(st.integers(1, 4)), stop, quantum=draw(st.integers(1, 5)))


def _moves(what: Any, which: int) -> st.SearchStrategy[Move]:
    return st.builds(Move, st.sampled_from(["step", "call"]), st.integers(0, 10), st.just(what), st.just(which))


def random_scripts(study: Study, examples: int) -> None:
    """Try random scripts; a violation is shrunk, and kept."""

    @settings(max_examples=examples, phases=PHASES, **CHOSEN)
    @given(scripts())
    def every_script_is_right(script: FairScript) -> None:
        if study.consider(script, RANDOM):
            raise Broken

    try:
        every_script_is_right()
    except Broken:
        return
    study.through.append(RANDOM)


class Machine(RuleBasedStateMachine):
    """The callers and the model: what comes next is decided when the engine has answered what came before."""

    study: Study

    @initialize(num_slots=st.integers(1, 3), quantum=st.integers(1, 4), stop=st.sampled_from([0, -1, 7]))
    def build(self, num_slots: int, quantum: int, stop: int) -> None:
        self.said: dict[Tokens, int] = {}
        self.fresh, self.tokens = 0, 10_000
        self.plan: list[bool] = []
        make = self.study.subject.make(quantum)
        self.player = Player(make, num_slots, stop, self.answer)
        self.reading = FairReading(Settings(num_slots, stop, self.study.dialect), quantum=quantum)
        self.quantum, self.read = quantum, 0
        self.look()

    def answer(self, rows: Any) -> list[int]:
        """Give every new prefix a token of its own, or the stop token, as the plan of this step says."""
        for row in rows:
            if row not in self.said:
                self.tokens += 1
                stops = self.plan.pop() if self.plan else False
                self.said[row] = self.player.stop_token if stops else self.tokens
        return [self.said[row] for row in rows]

    @rule(limit=st.integers(0, 9))
    def add(self, limit: int) -> None:
        if not self.player.dead:
            self.player.add(self.request(limit))
            self.look()

    def request(self, limit: int) -> Ask:
        self.fresh += 1
        return Ask(f"r{self.fresh}", (100 * self.fresh,), limit, ())

    @rule(which=st.integers(0, 5))
    def abort(self, which: int) -> None:
        if not self.player.dead:
            self.player.abort(f"r{max(0, self.fresh - which)}")
            self.look()

    @rule(
        plan=st.lists(st.booleans(), max_size=3),
        inside=st.sampled_from(["nothing", "nothing", "nothing", "add", "abort", "fail"]),
        which=st.integers(0, 4),
    )
    def step(self, plan: list[bool], inside: str, which: int) -> None:
        if self.player.dead:
            return
        self.plan = [stops and which % 2 == 0 for stops in plan]
        self.player.inside = lambda call: self.within(inside, which)
        self.player.step()
        self.look()

    def within(self, inside: str, which: int) -> str | None:
        if inside == "add":
            self.player.add(self.request(1 + 2 * which))
        elif inside == "abort":
            self.player.abort(f"r{max(0, self.fresh - which)}")
        return "ModelFailure" if inside == "fail" else None

    def look(self) -> None:
        """Read what is new, and judge it."""
        events = self.player.events
        for event in events[self.read :]:
            self.reading.feed(event)
        self.read = len(events)
        judgement = judged(self.reading)
        self.study.judged.update(judgement.judged)
        if judgement.violations:
            self.keep(judgement.violations)
            raise Broken

    def keep(self, violations: Any) -> None:
        for name, violation in violations.items():
            history = self.player.history()
            script = FairScript((), (), self.player.num_slots, self.player.stop_token, quantum=self.quantum)
            self.study.findings[name] = Finding(name, violation, history, script, MACHINE, tuple(self.study.through))

    def teardown(self) -> None:
        """Let all that is left run to its end."""
        if not hasattr(self, "player"):
            return
        self.player.inside = None
        for _ in range(10 * self.fresh + 5):
            if self.player.dead or not self.player.unfinished():
                break
            self.player.step()
        else:
            self.player.events.append(Stopped("more steps than any right engine needs"))
        self.study.runs += 1
        self.look()


def state_machine(study: Study, examples: int) -> None:
    """Run the machine; a violation is shrunk, and kept."""
    machine = type(f"Machine of {study.subject.name}", (Machine,), {"study": study})
    chosen = settings(max_examples=max(1, examples), stateful_step_count=30, phases=PHASES, **CHOSEN)
    try:
        run_state_machine_as_test(machine, settings=chosen)
    except Broken:
        return
    study.through.append(MACHINE)
