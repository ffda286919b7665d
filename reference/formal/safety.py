"""What is proved about `reference.transitions`, for any number of requests, of slots and of tokens.

Each invariant is a lemma: if all of them hold before an action, it holds after. Requests may arrive
and be aborted at any time, and a reply may be one that does not count (a chunk of a prompt), so the
lemmas cover the profiles *engine* and *cached*; the actions are in `system`. A fault is a broken copy
of an action, or a hypothesis left out; its claim must be refuted, in a small scope, where quantifiers
are spelled out and a counterexample is certain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from z3 import And, ArithRef, BoolRef, BoolSort, BoolVal, Function, If, Int, IntSort, IntVal, Not, Or

from reference.formal import system
from reference.formal.obligation import Claim, Claims, Control, Obligation
from reference.formal.system import FREE, INVARIANTS, Flag, Index, Invariant, Problem, State, symbolic

Actions = dict[str, tuple[BoolRef, State]]
Change = Callable[[Problem, State, State], State]

SMALL = 3  # two requests before the action, three after: the least scope in which every control is refuted
REPLY, ROW, CHUNK = (cast(Index, Function(name, IntSort(), IntSort())) for name in ("reply", "row", "chunk"))
COUNTS = cast(Flag, Function("counts", IntSort(), BoolSort()))
GONE, HERE = Int("gone"), Int("here")
TRUE = BoolVal(True)


# -- From claims to theorems -------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """What to break in one part of a theorem: the state that the action leaves, or the hypotheses (`without` one)."""

    name: str
    part: str
    change: Change = lambda problem, before, after: after
    without: Invariant | None = None


NONE = Fault("", "")


def theorem(
    name: str, statement: str, method: str, claims: Callable[[Problem, State, Fault], Claims], *faults: Fault | Control
) -> Obligation:
    def control(fault: Fault | Control) -> Control:
        if isinstance(fault, Control):
            return fault
        return Control(fault.name, lambda: claims(*symbolic(SMALL), fault)[fault.part])

    scope, controls = "any number of requests, slots and tokens", tuple(map(control, faults))
    everywhere, small = (lambda: claims(*symbolic(), NONE)), (lambda: claims(*symbolic(SMALL), NONE))
    return Obligation(name, statement, scope, f"z3, {method}", everywhere, controls, small)


def given(
    problem: Problem, state: State, fault: Fault = NONE, invariants: tuple[Invariant, ...] = INVARIANTS
) -> tuple[BoolRef, ...]:
    """Assume the invariants, and that limits and prompts have a size; in a small scope, that every range is small."""
    sizes = problem.every(0, state.count + 1, lambda r: And(problem.limit(r) >= 0, problem.prompt_size(r) >= 0))
    kept = (invariant(problem, state) for invariant in invariants if invariant is not fault.without)
    assumed = (problem.num_slots >= 1, sizes, *kept)
    if problem.bound is None:
        return assumed
    short = [problem.limit(IntVal(r)) + problem.prompt_size(IntVal(r)) <= problem.bound for r in range(problem.bound)]
    below = (state.count < problem.bound, state.back < problem.bound, problem.num_slots <= problem.bound)
    return (*assumed, *short, *below)


def at_a_call(problem: Problem, state: State, fault: Fault = NONE) -> tuple[BoolRef, ...]:
    return (*given(problem, state, fault), state.cursor == problem.num_slots)


def steps(problem: Problem, state: State) -> Actions:
    """Pair each action with the condition under which it is taken."""
    return {
        "initial": (TRUE, system.initial(problem, state)),
        "arrive": (TRUE, system.arrive(problem, state)),
        "admit": (state.cursor < problem.num_slots, system.admit(problem, state)),
        "advance": (state.cursor == problem.num_slots, system.advance(problem, state, REPLY, COUNTS)),
        "abort": (TRUE, system.abort(problem, state, GONE)),
    }


def kept(
    problem: Problem, state: State, fault: Fault, goal: Invariant, *, assumed: tuple[BoolRef, ...], actions: Actions
) -> Claims:
    """Claim that `goal` holds after each action; after `initial`, whatever was before."""
    return {
        action: Claim(
            assumed[:1] if action == "initial" else (*assumed, guard),
            goal(problem, fault.change(problem, state, after) if action == fault.part else after),
        )
        for action, (guard, after) in actions.items()
    }


def lemma(invariant: Invariant, *faults: Fault) -> Obligation:
    """Make the theorem that every action keeps `invariant`, given all of them."""

    def claims(problem: Problem, state: State, fault: Fault) -> Claims:
        assumed, actions = given(problem, state, fault), steps(problem, state)
        return kept(problem, state, fault, invariant, assumed=assumed, actions=actions)

    name, statement = invariant.__name__.replace("_", "-"), (invariant.__doc__ or "").strip()
    return theorem(f"safety/{name}", statement, "induction over the actions", claims, *faults)


def admit_newest(problem: Problem, before: State, after: State) -> State:
    here, new = before.cursor, before.queue(before.back - 1)
    taken = And(before.slot(here) == FREE, before.front < before.back)
    return replace(
        after,
        front=before.front,
        back=If(taken, before.back - 1, before.back),
        slot=lambda s: If(And(s == here, taken), new, before.slot(s)),
        home=lambda r: If(And(r == new, taken), here, before.home(r)),
    )


def end_at_limit_only(problem: Problem, before: State, after: State) -> State:
    def ended(r: ArithRef) -> BoolRef:
        return Or(before.finished(r), And(before.running(r, problem), after.size(r) == problem.limit(r)))

    return replace(after, finished=ended)


# fmt: off
LEMMAS = (
    lemma(
        system.ranges,
        Fault("admit takes from an empty queue", "admit", lambda p, s, a: replace(a, front=s.front + 1)),
    ),
    lemma(
        system.slots_known,
        Fault("admit does not ask whether anyone waits", "admit",
              lambda p, s, a: replace(a, slot=lambda x: If(x == s.cursor, s.queue(s.front), s.slot(x)))),
    ),
    lemma(
        system.queue_known,
        Fault("a request joins the queue twice", "arrive",
              lambda p, s, a: replace(a, back=s.back + 2, queue=lambda i: If(i >= s.back, s.count, s.queue(i)))),
    ),
    lemma(
        system.slots_distinct,
        Fault("admit gives one request two slots", "admit",
              lambda p, s, a: replace(a, slot=lambda x: If(x == s.cursor + 1, s.queue(s.front), a.slot(x)))),
    ),
    lemma(
        system.partition,
        Fault("an admitted request stays in the queue", "admit", lambda p, s, a: replace(a, front=s.front)),
        Fault("a finished request stays in its slot", "advance", lambda p, s, a: replace(a, slot=s.slot)),
        Fault("an aborted request stays in its slot", "abort", lambda p, s, a: replace(a, slot=s.slot)),
    ),
    lemma(
        system.within_limits,
        Fault("a full request may be running", "advance", without=system.full_means_finished),
        Fault("a request gets two tokens", "advance",
              lambda p, s, a: replace(a, size=lambda r: 2 * a.size(r) - s.size(r))),
    ),
    lemma(
        system.full_means_finished,
        Fault("only the limit ends a request", "advance", end_at_limit_only),
        Fault("a zero-token request waits", "arrive", lambda p, s, a: replace(a, finished=s.finished)),
        Fault("an aborted request has not finished", "abort", lambda p, s, a: replace(a, finished=s.finished)),
    ),
    lemma(
        system.stop_is_last,
        Fault("a request goes on after its stop token", "advance", without=system.full_means_finished),
    ),
    lemma(
        system.waiting_untouched,
        Fault("every request gets a token", "advance", lambda p, s, a: replace(a, size=lambda r: s.size(r) + 1)),
    ),
    lemma(
        system.fifo,
        Fault("the newest request is admitted first", "admit", admit_newest),
        Fault("an arriving request goes to the head", "arrive",
              lambda p, s, a: replace(a, queue=lambda i: If(i == s.front, s.count, s.queue(i - 1)))),
    ),
    lemma(
        system.scanned,
        Fault("admit passes a free slot over", "admit", lambda p, s, a: replace(s, cursor=s.cursor + 1)),
        Fault("a freed slot is not looked at again", "advance", lambda p, s, a: replace(a, cursor=s.cursor)),
        Fault("an aborted slot is not looked at again", "abort", lambda p, s, a: replace(a, cursor=s.cursor)),
    ),
)
# fmt: on


# -- What follows at a call --------------------------------------------------------------------------


def all_free(problem: Problem, state: State) -> BoolRef:
    return problem.every(0, problem.num_slots, lambda s: state.slot(s) == FREE)


def all_finished(problem: Problem, state: State) -> BoolRef:
    return problem.every(0, state.count, state.finished)


def no_idle_slot(problem: Problem, state: State, fault: Fault) -> Claims:
    return {"": Claim(at_a_call(problem, state, fault), system.no_idle_slot(problem, state))}


def halted(problem: Problem, state: State, fault: Fault) -> Claims:
    halts = (state.front == state.back, all_free(problem, state))
    return {"": Claim((*given(problem, state, fault), *halts), all_finished(problem, state))}


def call_needed(problem: Problem, state: State, fault: Fault) -> Claims:
    unfinished = Not(all_finished(problem, state))
    return {"": Claim((*at_a_call(problem, state, fault), unfinished), Not(all_free(problem, state)))}


def progress(problem: Problem, state: State, fault: Fault) -> Claims:
    after = fault.change(problem, state, system.advance(problem, state, REPLY))

    def one_more(r: ArithRef) -> BoolRef:
        kept = problem.every(0, state.size(r), lambda i: after.token(r, i) == state.token(r, i))
        return And(after.size(r) == state.size(r) + If(state.running(r, problem), 1, 0), kept)

    return {"": Claim(at_a_call(problem, state), problem.every(0, state.count, one_more))}


CONSEQUENCES = (
    theorem(
        "safety/no-idle-slot", "At a call, no slot is idle beside a waiting request.", "from the invariants",
        no_idle_slot, Fault("admit did not look at every slot", "", without=system.scanned),
    ),
    theorem(
        "safety/halted", "When nobody waits or runs, all have finished.", "from the invariants",
        halted, Fault("a request may be nowhere", "", without=system.partition),
    ),
    theorem(
        "safety/call-needed", "At a call, unless all have finished, some slot is held.", "from the invariants",
        call_needed, Fault("admit did not look at every slot", "", without=system.scanned),
    ),
    theorem(
        "safety/progress", "A call gives each running request one token and changes no other token.",
        "from the invariants", progress,
        Fault("a token overwrites the one before", "", lambda p, s, a: replace(
            a, token=lambda r, i: If(i == s.size(r) - 1, REPLY(r), s.token(r, i)))),
    ),
)  # fmt: skip

THEOREMS = LEMMAS + CONSEQUENCES
