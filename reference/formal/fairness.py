"""What is proved of the profile *fair*, for any quantum and any number of slots, requests and tokens.

The actions and the invariants are in `fair_system`; each step of each induction is a claim of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from z3 import And, ArithRef, BoolRef, If, Implies, Ints, IntVal, Not, Or

from reference.formal import system
from reference.formal.fair_system import (
    AHEAD,
    POLICY,
    START,
    WATCH,
    Fact,
    Fair,
    Step,
    counted,
    first_in,
    kept_up,
    marked,
    ready,
    stamped,
    steps,
    symbolic_fair,
    waits,
    yields,
)
from reference.formal.obligation import Claim, Claims, Control, Obligation
from reference.formal.profiles import QUANTUM, each_held, quantum_steps
from reference.formal.safety import HERE, SMALL, given
from reference.formal.system import FREE, Problem

THREE = SMALL + 1  # three requests before the action, for faults that two do not show
OTHER, ROUNDS = Ints("other rounds")


def as_it_is(problem: Problem, fair: Fair, step: Step) -> Step:
    return step


@dataclass(frozen=True)
class Slip:
    """What to break in one part of a theorem: the step, that is, its condition and effect, or the hypotheses."""

    name: str
    part: str
    change: Callable[[Problem, Fair, Step], Step] = as_it_is
    without: Fact | None = None
    bound: int = SMALL


NONE = Slip("", "")


def assumed(problem: Problem, fair: Fair, slip: Slip, *more: Fact) -> tuple[BoolRef, ...]:
    """Assume the invariants of a quantum and of the policy, and `more`; in a small scope, a small quantum."""
    facts = (fact(problem, fair) for fact in (*POLICY, *more) if fact is not slip.without)
    small = () if problem.bound is None else (fair.quantum <= 2,)
    return (*given(problem, fair.state, invariants=QUANTUM), fair.quantum >= 1, *small, *facts)


def kept(problem: Problem, fair: Fair, slip: Slip, *goals: Fact, more: tuple[Fact, ...] = ()) -> Claims:
    """Claim that the goals hold after each action."""
    claims = {}
    for action, step in steps(problem, fair).items():
        guard, after = slip.change(problem, fair, step) if action == slip.part else step
        claims[action] = Claim((*assumed(problem, fair, slip, *more), guard), And([g(problem, after) for g in goals]))
    return claims


def theorem(
    name: str, statement: str, method: str, claims: Callable[[Problem, Fair, Slip], Claims], *slips: Slip | Control
) -> Obligation:
    def control(slip: Slip | Control) -> Control:
        if isinstance(slip, Control):
            return slip
        return Control(slip.name, lambda: claims(*symbolic_fair(slip.bound), slip)[slip.part])

    scope, everywhere = "any quantum, any number of requests, slots and tokens", lambda: claims(*symbolic_fair(), NONE)
    controls = tuple(map(control, slips))
    return Obligation(
        name, statement, scope, f"z3, {method}", everywhere, controls, lambda: claims(*symbolic_fair(SMALL), NONE)
    )


# -- The theorems ------------------------------------------------------------------------------------


def empty(problem: Problem, fair: Fair) -> Fair:
    return replace(fair, state=system.initial(problem, fair.state), clock=IntVal(0), latest=IntVal(-1))


def streak(problem: Problem, fair: Fair, slip: Slip) -> Claims:
    """Follow the counter; and see that to yield is an `exchange` as the theorems on the quantum have it."""
    turn = (*assumed(problem, fair, slip), yields(problem, fair, HERE))
    gained = fair.state.size(fair.state.slot(HERE)) - fair.entry(HERE)
    known = (problem.num_slots >= 1,)
    return {
        "initial": Claim(known, And(counted(problem, empty(problem, fair)), marked(problem, empty(problem, fair)))),
        **kept(problem, fair, slip, counted, marked),
        "yield": Claim(turn, gained >= fair.quantum),
        "as an exchange": Claim(turn, quantum_steps(problem, fair.state)["exchange"][0]),
    }


def longest_first(problem: Problem, fair: Fair, slip: Slip) -> Claims:
    start = empty(problem, fair)
    first = And(stamped(problem, start), first_in(problem, start))
    return {"initial": Claim((problem.num_slots >= 1,), first), **kept(problem, fair, slip, stamped, first_in)}


def never_stuck(problem: Problem, fair: Fair, slip: Slip) -> Claims:
    """Find whose turn it is, one slot after another: the slot OTHER below HERE, or HERE itself."""

    def found(who: ArithRef, upto: ArithRef) -> BoolRef:
        first = problem.every(0, upto, lambda s: Implies(fair.due(s), fair.since(who) <= fair.since(s)))
        return And(fair.due(who), who >= 0, who < upto, first)

    def nobody(upto: ArithRef) -> BoolRef:
        return problem.every(0, upto, lambda s: Not(fair.due(s)))

    end, held = problem.num_slots, assumed(problem, fair, slip)
    here, before = And(HERE >= 0, end > HERE), Or(nobody(HERE), found(OTHER, HERE))
    turn = And(fair.state.cursor == end, Not(ready(problem, fair)), Or(nobody(end), found(OTHER, end)))
    _, after = slip.change(problem, fair, steps(problem, fair)["exchange"])
    fewer = And(fair.until - after.state.front < fair.until - fair.state.front, after.until == fair.until)
    return {
        "no slot": Claim(held, nobody(IntVal(0))),
        "one slot more": Claim(
            (*held, here, before), Or(nobody(HERE + 1), found(OTHER, HERE + 1), found(HERE, HERE + 1))
        ),
        "a turn": Claim((*held, turn), yields(problem, fair, OTHER)),
        "fewer": Claim((*held, yields(problem, fair, HERE)), fewer),
    }


def bounded_wait(problem: Problem, fair: Fair, slip: Slip) -> Claims:
    """Keep the watch from the arrival on; at a call that `mine` is not in, its number is still small."""
    state, slots = fair.state, problem.num_slots
    watched = (*assumed(problem, fair, slip, *WATCH), AHEAD >= 0, START >= 0, START <= 1)

    def none(s: ArithRef) -> BoolRef:
        return And(fair.turns(s) == 0, fair.sums(s) == 0, fair.quotas(s) == 0)

    new = And(fair.calls == 0, problem.every(0, slots + 1, none))
    streaks = each_held(problem, state, lambda s: fair.streak(s) >= START)
    begun = And(waits(fair), state.place(fair.mine) - state.front == AHEAD, state.cursor == 0, new, streaks)
    _, after = slip.change(problem, fair, steps(problem, fair)["advance"])
    here = And(HERE >= 0, slots > HERE)
    many = (fair.turns(HERE) >= ROUNDS, fair.sums(HERE) >= ROUNDS * HERE)
    return {
        "arrival": Claim(
            (*assumed(problem, fair, slip), begun, START >= 0, START <= 1),
            And([fact(problem, fair) for fact in WATCH]),
        ),
        "between calls": Claim(
            (*assumed(problem, fair, slip), ready(problem, fair)),
            each_held(problem, after.state, lambda s: after.streak(s) >= 1),
        ),
        **kept(problem, fair, slip, *WATCH, more=WATCH),
        "a call": Claim(
            (*watched, ready(problem, fair), waits(fair), here, ROUNDS >= 0),
            Or(fair.calls + 1 <= fair.quantum * ROUNDS - START, fair.turns(HERE) >= ROUNDS),
        ),
        "one slot more": Claim((*watched, here, *many), fair.sums(HERE + 1) >= ROUNDS * (HERE + 1)),
        "too many turns": Claim(
            (*watched, fair.sums(slots) >= ROUNDS * slots, ROUNDS * slots >= AHEAD + 1), Not(waits(fair))
        ),
    }


# -- Broken copies -----------------------------------------------------------------------------------


def no_reset(problem: Problem, fair: Fair, step: Step) -> Step:
    return step[0], replace(step[1], streak=fair.streak)


def anyone(problem: Problem, fair: Fair, step: Step) -> Step:
    """Let anyone yield who is due."""
    room = And(fair.state.cursor == problem.num_slots, fair.state.front < fair.until)
    return And(room, HERE >= 0, problem.num_slots > HERE, fair.due(HERE)), step[1]


def to_the_head(problem: Problem, fair: Fair, step: Step) -> Step:
    old, after = fair.state, step[1].state
    ahead = replace(
        after,
        front=old.front,
        back=old.back,
        queue=lambda i: If(i == old.front, old.slot(HERE), old.queue(i)),
        place=lambda r: If(r == old.slot(HERE), old.front, old.place(r)),
    )
    return step[0], replace(step[1], state=ahead)


def no_yielding(problem: Problem, fair: Fair, step: Step) -> Step:
    return fair.state.cursor == problem.num_slots, step[1]


def newest_enters(problem: Problem, fair: Fair, step: Step) -> Step:
    old, after = fair.state, step[1].state
    taken, new = And(old.slot(old.cursor) == FREE, old.front < old.back), old.queue(old.back - 1)
    last = replace(
        after,
        front=old.front,
        back=If(taken, old.back - 1, old.back),
        slot=lambda s: If(And(s == old.cursor, taken), new, old.slot(s)),
        home=lambda r: If(And(r == new, taken), old.cursor, old.home(r)),
    )
    return step[0], replace(step[1], state=last)


def a_call_less() -> Claim:
    problem, fair = symbolic_fair(SMALL)
    claim = bounded_wait(problem, fair, NONE)["a call"]
    return Claim(claim.given, Or(fair.calls + 2 <= fair.quantum * ROUNDS - START, fair.turns(HERE) >= ROUNDS))


def entered_within_a_call() -> Claim:
    problem, fair = symbolic_fair(SMALL)
    claim = bounded_wait(problem, replace(fair, streak=lambda s: fair.streak(s) + START), NONE)["arrival"]
    return Claim((*claim.given, START == 1), kept_up(problem, fair))


def the_last_slot_ignored() -> Claim:
    problem, fair = symbolic_fair(SMALL)
    claim = never_stuck(problem, fair, NONE)["one slot more"]
    first = problem.every(0, HERE + 1, lambda s: Implies(fair.due(s), fair.since(OTHER) <= fair.since(s)))
    nobody = problem.every(0, HERE + 1, lambda s: Not(fair.due(s)))
    return Claim(claim.given, Or(nobody, And(fair.due(OTHER), first)))


THEOREMS = (
    theorem(
        "fair/streak", "Who yields has had a quantum of tokens or more since it entered; each yielding is an exchange "
        "of `quantum/invariants`.", "induction over the actions", streak,
        Slip("who enters keeps the streak of who left", "exchange", no_reset),
        Slip("a freed slot keeps its streak", "admit", no_reset),
        Slip("the streak is not that of the request", "yield", without=counted),
        Slip("the mark is beyond the queue", "as an exchange", without=marked),
    ),
    theorem(
        "fair/longest-first", "Whoever could yield before a call and does not entered after all who do.",
        "induction over the actions", longest_first,
        Slip("anyone who is due yields", "exchange", anyone, bound=THREE),
        Slip("two entered at the same time", "exchange", without=stamped),
    ),
    theorem(
        "fair/never-stuck", "While somebody has to yield, it is somebody's turn; and each turn leaves one fewer.",
        "induction over the slots", never_stuck,
        Slip("who yields goes to the head", "fewer", to_the_head),
        Control("the last slot never has its turn", the_last_slot_ignored),
    ),
    theorem(
        "fairness/bounded-wait", "A request with j ahead of it first runs at the latest in call "
        "ceil((j+1)/num_slots)*quantum after its arrival, not counting one that was under way.",
        "induction over the actions and the slots", bounded_wait,
        Slip("nobody yields", "advance", no_yielding),
        Slip("who yields goes to the head", "exchange", to_the_head, bound=THREE),
        Slip("the newest enters first", "admit", newest_enters),
        Control("a call less is enough", a_call_less),
        Control("a call under way is counted as any other", entered_within_a_call),
    ),
)  # fmt: skip
