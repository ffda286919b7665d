"""Why every run ends: the tokens that are left, summed over the requests, go down with each call.

A request that has not finished has `limit - size` tokens left, the others have none. The sum over the
requests is a function that z3 is given by its recursion, `SUM(r + 1) == SUM(r) + left(r)`; what is
claimed of two sums is proved by induction over the requests, one request at a time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from z3 import And, ArithRef, BoolRef, BoolVal, Function, If, Ints, IntSort, IntVal, Not

from reference.formal import system
from reference.formal.obligation import Claim, Claims
from reference.formal.profiles import QUANTUM, quantum_steps
from reference.formal.safety import HERE, REPLY, Actions, Fault, given, theorem
from reference.formal.system import Index, Problem, State

SUM, SUM_AFTER = (cast(Index, Function(name, IntSort(), IntSort())) for name in ("sum", "sum_after"))
RUNNER, NEXT, CALLS, LIMITS = Ints("runner next calls limits")


def left(problem: Problem, state: State, r: ArithRef) -> ArithRef:
    """Count the tokens that request r may still get."""
    return If(state.finished(r), 0, problem.limit(r) - state.size(r))


def one_more(problem: Problem, state: State, total: Index) -> BoolRef:
    """State the recursion of the sum at the request NEXT."""
    return total(NEXT + 1) == total(NEXT) + left(problem, state, NEXT)


def actions(problem: Problem, state: State) -> Actions:
    """Take the actions whose effect on the tokens matters; each call counts, there is no chunked prefill here."""
    call = (state.cursor == problem.num_slots, system.advance(problem, state, REPLY))
    return {**quantum_steps(problem, state), "advance": call}


def variant(problem: Problem, state: State, fault: Fault) -> Claims:
    """Compare the sums before and after each action, up to the request NEXT, then with one request more."""
    assumed, counted = given(problem, state, fault, QUANTUM), And(NEXT >= 0, state.count > NEXT)

    def down(action: str, upto: ArithRef) -> BoolRef:
        calls = And(state.running(RUNNER, problem), upto > RUNNER) if action == "advance" else BoolVal(False)
        spent = SUM_AFTER(upto) + If(calls, 1, 0)
        return SUM_AFTER(upto) == SUM(upto) if action == "arrive" else spent <= SUM(upto)

    def step(action: str) -> Claim:
        guard, after = actions(problem, state)[action]
        after = fault.change(problem, state, after) if action == fault.part else after
        recursion = And(one_more(problem, state, SUM), one_more(problem, after, SUM_AFTER))
        sane = And(RUNNER >= 0, problem.limit(NEXT) >= 0)
        return Claim((*assumed, guard, counted, sane, recursion, down(action, NEXT)), down(action, NEXT + 1))

    new, arrived = state.count, system.arrive(problem, state)
    joins = And(one_more(problem, arrived, SUM_AFTER), new == NEXT, down("arrive", NEXT))
    nobody = And(SUM(0) == 0, SUM_AFTER(0) == 0, RUNNER >= 0)
    return {
        "no request": Claim((nobody,), And(down("arrive", IntVal(0)), down("advance", IntVal(0)))),
        **{action: step(action) for action in ("arrive", "admit", "exchange", "abort", "advance")},
        "the new request": Claim((*assumed, joins), SUM_AFTER(new + 1) <= SUM(new) + problem.limit(new)),
        "never negative": Claim((*assumed, counted, one_more(problem, state, SUM), SUM(NEXT) >= 0), SUM(NEXT + 1) >= 0),
        "bound after an arrival": Claim(
            (CALLS + SUM(new) <= LIMITS, SUM_AFTER(new + 1) <= SUM(new) + problem.limit(new)),
            CALLS + SUM_AFTER(new + 1) <= LIMITS + problem.limit(new),
        ),
        "bound after a call": Claim(
            (CALLS + SUM(new) <= LIMITS, SUM_AFTER(new) + 1 <= SUM(new)), CALLS + 1 + SUM_AFTER(new) <= LIMITS
        ),
        "bound": Claim((CALLS + SUM(new) <= LIMITS, SUM(new) >= 0), CALLS <= LIMITS),
    }


def somebody_runs(problem: Problem, state: State, fault: Fault) -> Claims:
    unfinished = And(RUNNER >= 0, state.count > RUNNER, Not(state.finished(RUNNER)))
    idle = problem.every(0, problem.num_slots, lambda s: Not(state.running(state.slot(s), problem)))
    call = state.cursor == problem.num_slots
    return {"": Claim((*given(problem, state, fault, QUANTUM), call, unfinished), Not(idle))}


def no_token(problem: Problem, before: State, after: State) -> State:
    return replace(after, size=before.size, finished=before.finished)


THEOREMS = (
    theorem(
        "termination/variant",
        "Each call brings the sum of the tokens that are left down by one or more, nothing but an arrival "
        "brings it up, and that by no more than the limit; "
        "so a run makes at most as many calls as its limits add up to.",
        "induction over the requests",
        variant,
        Fault("a call gives no token", "advance", no_token),
        Fault("who yields starts again", "exchange", lambda p, s, a: replace(
            a, size=lambda r: If(r == s.slot(HERE), 0, s.size(r)))),
        Fault("a request may be beyond its limit", "never negative", without=system.within_limits),
    ),
    theorem(
        "termination/somebody-runs",
        "At a call, unless all have finished, some request runs.",
        "from the invariants",
        somebody_runs,
        Fault("admit did not look at every slot", "", without=system.scanned),
    ),
)  # fmt: skip
