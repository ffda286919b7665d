"""The profile *fair* as a transition system for z3: that of `system`, and who has to yield.

Free slots are filled. Then requests that had `quantum` tokens in a row yield, of them the one first that
entered first, while anyone waits who did when the yielding began. Each slot has a `streak`, the tokens
that its request got since it entered, and `since`, a number that grows with every entry.

That a request waits a bounded time is one more invariant, about a request `mine` that has not run in
`calls` calls. Slot s was given away `turns(s)` times since. It is due at the latest `quantum` calls
after it was given away, so `quotas(s)`, which is `quantum * turns(s)`, keeps up with the calls; and all
the turns together are at most the requests that were ahead. `sums(k)` adds the turns of the slots below k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from z3 import And, ArithRef, BoolRef, Function, If, Implies, Ints, IntSort, IntVal, Not, Or

from reference.formal import system
from reference.formal.profiles import each_held
from reference.formal.safety import GONE, HERE, REPLY, TRUE
from reference.formal.system import FREE, Index, Problem, State, symbolic

AHEAD, START = Ints("ahead start")


@dataclass(frozen=True)
class Fair:
    """A state with what the policy keeps, and with what the proofs watch: `entry` to `latest`, and `mine` to `sums`.

    Who waits at a place below `until` was there when the yielding began. `entry(s)` tokens had the request in
    slot s when it entered; `latest` is when the last request entered that yielded before this call.
    """

    state: State
    quantum: ArithRef
    streak: Index
    since: Index
    clock: ArithRef
    until: ArithRef
    entry: Index
    latest: ArithRef
    mine: ArithRef
    calls: ArithRef
    turns: Index
    sums: Index
    quotas: Index

    def due(self, s: ArithRef) -> BoolRef:
        """State that the request in slot s has had its tokens in a row."""
        return And(self.state.slot(s) != FREE, self.streak(s) >= self.quantum)

    def given_to(self, s: ArithRef, taken: BoolRef, state: State) -> Fair:
        """Let another request enter slot s, where one is `taken`."""

        def put(old: Index, new: ArithRef | int) -> Index:
            return lambda x: If(And(x == s, taken), new, old(x))

        return replace(
            self,
            state=state,
            streak=put(self.streak, 0),
            since=put(self.since, self.clock),
            entry=put(self.entry, state.size(state.slot(s))),
            clock=self.clock + 1,
            turns=put(self.turns, self.turns(s) + 1),
            quotas=put(self.quotas, self.quotas(s) + self.quantum),
            sums=lambda k: If(And(k > s, taken), self.sums(k) + 1, self.sums(k)),
        )


def symbolic_fair(bound: int | None = None) -> tuple[Problem, Fair]:
    """Make a problem and a state of which nothing is known."""
    problem, state = symbolic(bound)
    names = ("streak", "since", "entry", "turns", "sums", "quotas")
    quantum, clock, until, latest, mine, calls = Ints("quantum clock until latest mine calls")
    return problem, Fair(
        state=state, quantum=quantum, clock=clock, until=until, latest=latest, mine=mine, calls=calls,
        **{name: cast(Index, Function(name, IntSort(), IntSort())) for name in names},
    )  # fmt: skip


# -- Actions -----------------------------------------------------------------------------------------


def admit(problem: Problem, fair: Fair) -> Fair:
    """Look at one slot; after the last one it is known who waits while others yield."""
    before, after = fair.state, system.admit(problem, fair.state)
    taken = And(before.slot(before.cursor) == FREE, before.front < before.back)
    last = before.cursor + 1 == problem.num_slots
    return replace(fair.given_to(before.cursor, taken, after), until=If(last, after.back, fair.until))


def exchange(problem: Problem, fair: Fair, here: ArithRef) -> Fair:
    """Let the request in slot `here` yield to the head of the queue."""
    after = fair.given_to(here, TRUE, system.exchange(problem, fair.state, here))
    return replace(after, latest=fair.since(here))


def advance(problem: Problem, fair: Fair, reply: Index) -> Fair:
    """Make the call."""
    after = system.advance(problem, fair.state, reply)
    return replace(fair, state=after, streak=lambda s: fair.streak(s) + 1, latest=IntVal(-1), calls=fair.calls + 1)


def yields(problem: Problem, fair: Fair, here: ArithRef) -> BoolRef:
    """State that it is the turn of slot `here` to yield: among those that are due, its request entered first."""
    state = fair.state
    first = problem.every(0, problem.num_slots, lambda s: Implies(fair.due(s), fair.since(here) <= fair.since(s)))
    room = And(state.cursor == problem.num_slots, state.front < fair.until)
    return And(room, here >= 0, here < problem.num_slots, fair.due(here), first)


def ready(problem: Problem, fair: Fair) -> BoolRef:
    """State that the call is next: nobody has to yield."""
    settled = problem.every(0, problem.num_slots, lambda s: Not(fair.due(s)))
    return And(fair.state.cursor == problem.num_slots, Or(fair.state.front >= fair.until, settled))


Step = tuple[BoolRef, Fair]


def steps(problem: Problem, fair: Fair) -> dict[str, Step]:
    """Pair each action with the condition under which it is taken."""
    state = fair.state
    return {
        "arrive": (TRUE, replace(fair, state=system.arrive(problem, state))),
        "admit": (state.cursor < problem.num_slots, admit(problem, fair)),
        "exchange": (yields(problem, fair, HERE), exchange(problem, fair, HERE)),
        "advance": (ready(problem, fair), advance(problem, fair, REPLY)),
        "abort": (fair.mine != GONE, replace(fair, state=system.abort(problem, state, GONE))),
    }


# -- Invariants --------------------------------------------------------------------------------------

Fact = Callable[[Problem, Fair], BoolRef]


def counted(problem: Problem, fair: Fair) -> BoolRef:
    """The streak of a held slot is the number of tokens that its request got since it entered."""

    def counts(s: ArithRef) -> BoolRef:
        entered = fair.entry(s)
        return And(fair.streak(s) >= 0, entered >= 0, fair.state.size(fair.state.slot(s)) == entered + fair.streak(s))

    return each_held(problem, fair.state, counts)


def marked(problem: Problem, fair: Fair) -> BoolRef:
    """Who waited when the yielding began waits in the queue, which may have grown since."""
    return Implies(fair.state.cursor == problem.num_slots, fair.until <= fair.state.back)


def stamped(problem: Problem, fair: Fair) -> BoolRef:
    """No two held slots were entered at the same time, and none later than now."""

    def differs(s: ArithRef) -> BoolRef:
        others = problem.every(0, s, lambda t: Or(fair.state.slot(t) == FREE, fair.since(s) != fair.since(t)))
        return And(fair.since(s) >= 0, fair.since(s) < fair.clock, others)

    return And(fair.clock >= 0, each_held(problem, fair.state, differs))


def first_in(problem: Problem, fair: Fair) -> BoolRef:
    """Whoever is due and has not yielded before this call entered after all who have."""
    return problem.every(0, problem.num_slots, lambda s: Implies(fair.due(s), fair.since(s) > fair.latest))


def arrived(problem: Problem, fair: Fair) -> BoolRef:
    """`mine` is a request that has arrived."""
    return And(fair.mine >= 0, fair.mine < fair.state.count)


def waits(fair: Fair) -> BoolRef:
    """State that `mine` has not run yet; one that yields waits too, but has tokens."""
    return And(fair.state.waiting(fair.mine), fair.state.size(fair.mine) == 0)


def summed(problem: Problem, fair: Fair) -> BoolRef:
    """`sums` adds the turns up."""
    added = problem.every(0, problem.num_slots, lambda k: fair.sums(k + 1) == fair.sums(k) + fair.turns(k))
    return And(fair.sums(IntVal(0)) == 0, added)


def multiplied(problem: Problem, fair: Fair) -> BoolRef:
    """`quotas` gives each turn a quantum; apart, since it is the one product of two unknowns."""
    return problem.every(0, problem.num_slots, lambda s: fair.quotas(s) == fair.quantum * fair.turns(s))


def passed(problem: Problem, fair: Fair) -> BoolRef:
    """The turns, and those who are still ahead, are together no more than the AHEAD who were ahead at first."""
    state, place = fair.state, fair.state.place(fair.mine)
    known = Or(state.cursor < problem.num_slots, place < fair.until)
    return Implies(waits(fair), And(fair.sums(problem.num_slots) + place - state.front <= AHEAD, known))


def spent(fair: Fair, s: ArithRef) -> ArithRef:
    """Count the calls of its quantum that slot s has used up; all, where it is free."""
    return If(Or(fair.state.slot(s) == FREE, fair.streak(s) >= fair.quantum), fair.quantum, fair.streak(s))


def kept_up(problem: Problem, fair: Fair) -> BoolRef:
    """While `mine` waits, each slot was given away every `quantum` calls; START is 1 between calls, 0 within one."""

    def enough(s: ArithRef) -> BoolRef:
        return fair.quotas(s) + spent(fair, s) >= fair.calls + START

    return Implies(waits(fair), problem.every(0, problem.num_slots, enough))


POLICY = (counted, marked, stamped, first_in)
WATCH = (arrived, summed, multiplied, passed, kept_up)
