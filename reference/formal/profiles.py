"""What is proved of the profiles: padded, arrivals and aborts while running, the quantum, cached.

Each is more transitions on the state of `system`, and theorems of the kind that `safety` has.
"""

from __future__ import annotations

from dataclasses import replace

from z3 import And, ArithRef, BoolRef, If, Implies, Not, Or

from reference.formal import system
from reference.formal.obligation import Claim, Claims, Control
from reference.formal.safety import (
    CHUNK,
    GONE,
    HERE,
    REPLY,
    ROW,
    SMALL,
    Actions,
    Fault,
    at_a_call,
    given,
    kept,
    steps,
    theorem,
)
from reference.formal.system import FREE, INVARIANTS, Flag, Problem, State, symbolic


def same_tokens(problem: Problem, one: State, other: State, r: ArithRef) -> BoolRef:
    tokens = problem.every(0, one.size(r), lambda i: one.token(r, i) == other.token(r, i))
    return And(one.size(r) == other.size(r), one.finished(r) == other.finished(r), tokens)


def same(problem: Problem, one: State, other: State) -> BoolRef:
    """State that two states have the same requests in the same slots and places, with the same tokens."""
    ends = And(one.front == other.front, one.back == other.back, one.count == other.count)
    queues = problem.every(one.front, one.back, lambda i: one.queue(i) == other.queue(i))
    slots = problem.every(0, problem.num_slots, lambda s: one.slot(s) == other.slot(s))
    return And(ends, queues, slots, problem.every(0, one.count, lambda r: same_tokens(problem, one, other, r)))


def padded_rows(problem: Problem, state: State, fault: Fault) -> Claims:
    """After the rows of the slots below k, exactly the requests in those slots have advanced."""

    def after(k: ArithRef | int) -> State:
        return system.advance(problem, state, lambda r: ROW(state.home(r)), lambda r: state.home(r) < k)

    call, row = at_a_call(problem, state), And(HERE >= 0, problem.num_slots > HERE)
    received = fault.change(problem, after(HERE), system.receive(problem, after(HERE), HERE, ROW(HERE)))
    advanced = system.advance(problem, state, lambda r: ROW(state.home(r)))
    return {
        "no row": Claim(call, same(problem, after(0), state)),
        "one row more": Claim((*call, row), same(problem, received, after(HERE + 1))),
        "all rows": Claim(call, same(problem, after(problem.num_slots), advanced)),
    }


def arrival_in_flight(problem: Problem, state: State, fault: Fault) -> Claims:
    arrived = fault.change(problem, state, system.arrive(problem, state))
    after = system.arrive(problem, system.advance(problem, state, REPLY))
    return {"": Claim(at_a_call(problem, state), same(problem, system.advance(problem, arrived, REPLY), after))}


def abort_frees_slot(problem: Problem, state: State, fault: Fault) -> Claims:
    after = fault.change(problem, state, system.abort(problem, state, GONE))
    freed = Implies(state.running(GONE, problem), And(after.slot(state.home(GONE)) == FREE, after.cursor == 0))
    gone = And(Not(after.running(GONE, problem)), Not(after.waiting(GONE)), after.finished(GONE))
    return {"": Claim((*given(problem, state), GONE >= 0, state.count > GONE), And(freed, gone))}


def abort_isolated(problem: Problem, state: State, fault: Fault) -> Claims:
    after = fault.change(problem, state, system.abort(problem, state, GONE))
    other = And(HERE >= 0, state.count > HERE, HERE != GONE, state.waiting(HERE))

    def alike(r: ArithRef) -> BoolRef:
        runs = And(state.running(r, problem) == after.running(r, problem), state.home(r) == after.home(r))
        waits = And(state.waiting(r) == after.waiting(r), state.aborted(r) == after.aborted(r))
        ahead = (state.place(r) < state.place(HERE)) == (after.place(r) < after.place(HERE))
        return And(same_tokens(problem, state, after, r), runs, waits, Implies(And(state.waiting(r), other), ahead))

    return {"": Claim(given(problem, state), problem.every(0, state.count, lambda r: Implies(r != GONE, alike(r))))}


def fresh_fifo(problem: Problem, state: State) -> BoolRef:
    """Requests that never ran wait in the order of arrival, and whoever has run arrived before them."""

    def behind(i: ArithRef) -> BoolRef:
        def earlier(r: ArithRef) -> BoolRef:
            ahead = And(state.waiting(r), Or(state.size(r) > 0, state.place(r) < i))
            return Implies(Or(system.admitted(problem, state, r), ahead), r < state.queue(i))

        return Implies(state.size(state.queue(i)) == 0, problem.every(0, state.count, earlier))

    return problem.every(state.front, state.back, behind)


QUANTUM = (*(i for i in INVARIANTS if i not in (system.waiting_untouched, system.fifo)), fresh_fifo)


def quantum_steps(problem: Problem, state: State) -> Actions:
    held = And(HERE >= 0, problem.num_slots > HERE, state.slot(HERE) != FREE, state.size(state.slot(HERE)) > 0)
    yields = And(held, state.cursor == problem.num_slots, state.front < state.back)
    return {**steps(problem, state), "exchange": (yields, system.exchange(problem, state, HERE))}


def quantum_invariants(problem: Problem, state: State, fault: Fault) -> Claims:
    def goal(problem: Problem, state: State) -> BoolRef:
        return And([invariant(problem, state) for invariant in QUANTUM])

    assumed = given(problem, state, fault, QUANTUM)
    call = Claim((*assumed, state.cursor == problem.num_slots), system.no_idle_slot(problem, state))
    steps_kept = kept(problem, state, fault, goal, assumed=assumed, actions=quantum_steps(problem, state))
    return {**steps_kept, "at a call": call}


def fifo_after_exchange(problem: Problem, state: State) -> Claim:
    yields, after = quantum_steps(problem, state)["exchange"]
    return Claim((*given(problem, state), yields), system.fifo(problem, after))


def quantum_lossless(problem: Problem, state: State, fault: Fault) -> Claims:
    """Nobody's tokens change; who yields waits behind all who waited."""
    actions = quantum_steps(problem, state)
    (yields, yielded), (looks, resumed) = actions["exchange"], actions["admit"]
    yielded, old = fault.change(problem, state, yielded), state.slot(HERE)
    assumed = given(problem, state, fault, QUANTUM)

    def lossless(after: State) -> BoolRef:
        return problem.every(0, state.count, lambda r: same_tokens(problem, state, after, r))

    last = problem.every(yielded.front, yielded.back, lambda i: yielded.place(yielded.queue(i)) <= yielded.place(old))
    back = And(yielded.waiting(old), last)
    return {
        "yield": Claim((*assumed, yields), And(lossless(yielded), back)),
        "resume": Claim((*assumed, looks), lossless(resumed)),
    }


def exact(problem: Problem, state: State, s: ArithRef) -> BoolRef:
    """State that whatever the line of slot s holds is the start of its request's prefix."""
    return problem.every(0, state.line_size(s), lambda i: state.line(s, i) == state.prefix(state.slot(s), i, problem))


def each_held(problem: Problem, state: State, body: Flag) -> BoolRef:
    return problem.every(0, problem.num_slots, lambda s: Or(state.slot(s) == FREE, body(s)))


def line_in_step(problem: Problem, state: State) -> BoolRef:
    """The line of a held slot is the start of its request's prefix, and lacks some of it if there is any."""

    def in_step(s: ArithRef) -> BoolRef:
        lacks = Or(state.unfed(s, problem) > 0, And(state.unfed(s, problem) == 0, state.line_size(s) == 0))
        return And(state.line_size(s) >= 0, lacks, exact(problem, state, s))

    return each_held(problem, state, in_step)


def chunked(problem: Problem, state: State) -> BoolRef:
    """Each held slot is fed at least one token and no more than its line lacks; none where it lacks none."""

    def legal(s: ArithRef) -> BoolRef:
        unfed = state.unfed(s, problem)
        return If(unfed == 0, CHUNK(s) == 0, And(CHUNK(s) >= 1, CHUNK(s) <= unfed))

    return And(state.cursor == problem.num_slots, each_held(problem, state, legal))


def cached_in_step(problem: Problem, state: State, fault: Fault) -> Claims:
    assumed = given(problem, state, fault, (*QUANTUM, line_in_step))
    fed = (chunked(problem, state), system.advance_cached(problem, state, REPLY, CHUNK))
    actions = {**quantum_steps(problem, state), "advance": fed}
    return kept(problem, state, fault, line_in_step, assumed=assumed, actions=actions)


def cached_seen(problem: Problem, state: State, fault: Fault) -> Claims:
    fed = fault.change(problem, state, system.forward(problem, state, CHUNK))

    def seen(s: ArithRef) -> BoolRef:
        once = problem.every(0, state.line_size(s), lambda i: fed.line(s, i) == state.line(s, i))
        return And(exact(problem, fed, s), once, fed.unfed(s, problem) >= 0)

    assumed = given(problem, state, fault, (*QUANTUM, line_in_step))
    return {"": Claim((*assumed, chunked(problem, state)), each_held(problem, state, seen))}


def cached_fresh(problem: Problem, state: State, fault: Fault) -> Claims:
    def claim(action: str) -> Claim:
        guard, after = quantum_steps(problem, state)[action]
        after = fault.change(problem, state, after)
        entered = each_held(problem, after, lambda s: Or(after.slot(s) == state.slot(s), after.line_size(s) == 0))
        return Claim((*given(problem, state, fault, QUANTUM), guard), entered)

    return {action: claim(action) for action in ("admit", "exchange")}


def keep_line(problem: Problem, before: State, after: State) -> State:
    return replace(after, line_size=before.line_size)


# fmt: off
THEOREMS = (
    theorem(
        "padded/rows", "Reading a padded reply row by row is one `advance`, whatever the rows of idle slots say.",
        "induction over the rows", padded_rows,
        Fault("a pad row's token goes to the request that had the slot last", "one row more", lambda p, s, a: replace(
            a, size=lambda r: If(And(s.slot(HERE) == FREE, s.home(r) == HERE), s.size(r) + 1, a.size(r)))),
    ),
    theorem(
        "arrival/in-flight", "A request that arrives during a call joins as if it had arrived just after it.",
        "one step", arrival_in_flight,
        Fault("it takes the first slot at once", "", lambda p, s, a: replace(
            a, slot=lambda x: If(x == 0, s.count, a.slot(x)), home=lambda r: If(r == s.count, 0, a.home(r)))),
    ),
    theorem(
        "abort/frees-slot", "An abort ends the request, and the next call looks at its slot, which is free.",
        "one step", abort_frees_slot,
        Fault("the slot stays held", "", lambda p, s, a: replace(a, slot=s.slot)),
        Fault("the request stays in the queue", "", lambda p, s, a: replace(a, queue=s.queue, back=s.back)),
    ),
    theorem(
        "abort/isolated", "An abort changes no other request: tokens, slot, state, and order in the queue.",
        "one step", abort_isolated,
        Fault("the last in the queue is dropped instead", "", lambda p, s, a: replace(a, queue=s.queue)),
        Fault("every slot is freed", "", lambda p, s, a: replace(a, slot=lambda x: FREE)),
    ),
    theorem(
        "quantum/invariants", "Where requests yield after one token or more, every invariant but two holds, no idle "
        "slot beside a waiting request among them; `waiting_untouched` and `fifo` hold of those that never ran.",
        "induction over the actions", quantum_invariants,
        Fault("the slot is left empty", "exchange", lambda p, s, a: replace(
            a, front=s.front, slot=lambda x: If(x == HERE, FREE, s.slot(x)))),
        Fault("who yields is not queued", "exchange", lambda p, s, a: replace(a, back=s.back)),
        Fault("who yields looks as if it never ran", "exchange", lambda p, s, a: replace(
            a, size=lambda r: If(r == s.slot(HERE), 0, s.size(r)))),
        Control("`fifo` holds of all who wait", lambda: fifo_after_exchange(*symbolic(SMALL))),
    ),
    theorem(
        "quantum/lossless", "Who yields keeps its tokens and waits behind all who waited; who resumes has them all.",
        "one step", quantum_lossless,
        Fault("who yields starts again", "yield", lambda p, s, a: replace(
            a, size=lambda r: If(r == s.slot(HERE), 0, s.size(r)))),
        Fault("who yields goes to the head", "yield", lambda p, s, a: replace(
            s, front=s.front - 1, queue=lambda i: If(i == s.front - 1, s.slot(HERE), s.queue(i)),
            place=lambda r: If(r == s.slot(HERE), s.front - 1, s.place(r)))),
    ),
    theorem(
        "cached/fresh", "A line is empty when a request enters its slot.", "one step", cached_fresh,
        Fault("no reset", "admit", keep_line), Fault("no reset when another yields", "exchange", keep_line),
    ),
    theorem(
        "cached/in-step", "Between calls, the line of a held slot is the start of its request's prefix, prefilled "
        "whole or in chunks, and after it yielded and resumed.", "induction over the actions", cached_in_step,
        Fault("no reset", "admit", keep_line), Fault("no reset when another yields", "exchange", keep_line),
        Fault("a reply to a chunk counts", "advance", lambda p, s, a: system.advance(
            p, system.forward(p, s, lambda x: 1 + 0 * x), REPLY)),
    ),
    theorem(
        "cached/seen", "What the model sees in a held slot is the start of its request's prefix, whole where the "
        "reply counts, each token written once.", "one step", cached_seen,
        Fault("the line is not in step", "", without=line_in_step),
        Fault("the last token is fed twice", "", lambda p, s, a: replace(
            a, line_size=lambda x: a.line_size(x) + 1)),
    ),
)
# fmt: on
