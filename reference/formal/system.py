"""The transition system of `reference.transitions` once more, for z3.

A state is a handful of functions over integers: which request slot s holds, what the queue has at
place i, how many tokens request r has. An action maps the functions before it to those after it.
`initial` is an empty system, which every request then joins with `arrive`, so that requests which
come while others run are covered too; `admit` looks at one slot, as one turn of the loop does. Two
functions exist for the proofs only: `home(r)` is the slot that r was last given, `place(r)` its place
in the queue; they spare the formulas every "there is".

Proofs about this encoding say nothing about `reference.transitions` unless the two agree, which
`bridge` compares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import cast

from z3 import And, ArithRef, BoolRef, BoolSort, BoolVal, ForAll, Function, If, Implies, Int, IntSort, IntVal, Not, Or

Index = Callable[[ArithRef], ArithRef]
Table = Callable[[ArithRef, ArithRef], ArithRef]
Flag = Callable[[ArithRef], BoolRef]

FREE = IntVal(-1)
NAMES = count()


@dataclass(frozen=True)
class Problem:
    """What stays fixed: request r has `prompt_size(r)` tokens `prompt(r, i)` and may generate `limit(r)`."""

    num_slots: ArithRef
    stop_token: ArithRef
    limit: Index
    prompt_size: Index
    prompt: Table
    bound: int | None = None

    def every(self, low: ArithRef | int, high: ArithRef, body: Flag) -> BoolRef:
        """State that `body` is true of every integer from `low` to below `high`."""
        if self.bound is None:
            x = Int(f"x{next(NAMES)}")
            return ForAll([x], Implies(And(low <= x, x < high), body(x)))
        return And([Implies(And(low <= x, x < high), body(x)) for x in map(IntVal, range(self.bound))])


@dataclass(frozen=True)
class State:
    """`queue(i)` for `front <= i < back` waits; `slot(s)` is a request or FREE; `size(r)` tokens `token(r, i)` are r's.

    `cursor` is the next slot that `admit` looks at; at num_slots a call may be made. `line(s, i)` for
    i below `line_size(s)` is what the cache of slot s holds (profile *cached*).
    """

    count: ArithRef
    front: ArithRef
    back: ArithRef
    cursor: ArithRef
    queue: Index
    slot: Index
    size: Index
    token: Table
    finished: Flag
    aborted: Flag
    line_size: Index
    line: Table
    home: Index
    place: Index

    def running(self, r: ArithRef, problem: Problem) -> BoolRef:
        return And(self.home(r) >= 0, self.home(r) < problem.num_slots, self.slot(self.home(r)) == r)

    def waiting(self, r: ArithRef) -> BoolRef:
        return And(self.front <= self.place(r), self.place(r) < self.back, self.queue(self.place(r)) == r)

    def full(self, r: ArithRef, problem: Problem) -> BoolRef:
        stopped = And(self.size(r) > 0, self.token(r, self.size(r) - 1) == problem.stop_token)
        return Or(stopped, self.size(r) == problem.limit(r))

    def prefix(self, r: ArithRef, i: ArithRef, problem: Problem) -> ArithRef:
        return If(i < problem.prompt_size(r), problem.prompt(r, i), self.token(r, i - problem.prompt_size(r)))

    def unfed(self, s: ArithRef, problem: Problem) -> ArithRef:
        """Count the tokens of the prefix of the request in slot s that its line does not hold yet."""
        return problem.prompt_size(self.slot(s)) + self.size(self.slot(s)) - self.line_size(s)


def symbolic(bound: int | None = None) -> tuple[Problem, State]:
    """Make a problem and a state of which nothing is known; with a bound, every range is below it."""

    def index(name: str) -> Index:
        return cast(Index, Function(name, IntSort(), IntSort()))

    def table(name: str) -> Table:
        return cast(Table, Function(name, IntSort(), IntSort(), IntSort()))

    def flag(name: str) -> Flag:
        return cast(Flag, Function(name, IntSort(), BoolSort()))

    problem = Problem(
        num_slots=Int("num_slots"), stop_token=Int("stop_token"), limit=index("limit"),
        prompt_size=index("prompt_size"), prompt=table("prompt"), bound=bound,
    )  # fmt: skip
    return problem, State(
        count=Int("count"), front=Int("front"), back=Int("back"), cursor=Int("cursor"),
        queue=index("queue"), slot=index("slot"), size=index("size"), token=table("token"),
        finished=flag("finished"), aborted=flag("aborted"),
        line_size=index("line_size"), line=table("line"), home=index("home"), place=index("place"),
    )  # fmt: skip


# -- Actions: `initial` and `arrive`, `admit` (one slot of its loop), `advance` ----------------------


def initial(problem: Problem, state: State) -> State:
    """Empty the system; requests then `arrive`."""
    zero = IntVal(0)
    return replace(
        state, count=zero, front=zero, back=zero, cursor=zero, slot=lambda s: FREE,
        size=lambda r: zero, finished=lambda r: BoolVal(False), aborted=lambda r: BoolVal(False),
    )  # fmt: skip


def arrive(problem: Problem, state: State) -> State:
    """Let one more request join: the queue, or the finished where it has nothing to generate."""
    new, nothing = state.count, problem.limit(state.count) == 0
    return replace(
        state,
        count=new + 1,
        back=If(nothing, state.back, state.back + 1),
        cursor=IntVal(0),
        queue=lambda i: If(And(i == state.back, Not(nothing)), new, state.queue(i)),
        place=lambda r: If(And(r == new, Not(nothing)), state.back, state.place(r)),
        size=lambda r: If(r == new, 0, state.size(r)),
        finished=lambda r: If(r == new, nothing, state.finished(r)),
        aborted=lambda r: And(r != new, state.aborted(r)),
    )


def admit(problem: Problem, state: State) -> State:
    """Look at the slot under the cursor; if it is free, give it the head of the queue, its cache line emptied."""
    here, new = state.cursor, state.queue(state.front)
    taken = And(state.slot(here) == FREE, state.front < state.back)
    return replace(
        state,
        front=If(taken, state.front + 1, state.front),
        cursor=here + 1,
        slot=lambda s: If(And(s == here, taken), new, state.slot(s)),
        home=lambda r: If(And(r == new, taken), here, state.home(r)),
        line_size=lambda s: If(And(s == here, taken), 0, state.line_size(s)),
    )


def advance(problem: Problem, state: State, reply: Index, counts: Flag = lambda r: BoolVal(True)) -> State:
    """Give each running request its token (those whose reply `counts`); the full ones finish and free their slots."""

    def moved(r: ArithRef) -> BoolRef:
        return And(state.running(r, problem), counts(r))

    after = replace(
        state,
        cursor=IntVal(0),
        size=lambda r: If(moved(r), state.size(r) + 1, state.size(r)),
        token=lambda r, i: If(And(moved(r), i == state.size(r)), reply(r), state.token(r, i)),
    )
    return replace(
        after,
        slot=lambda s: If(And(state.slot(s) != FREE, after.full(state.slot(s), problem)), FREE, state.slot(s)),
        finished=lambda r: Or(state.finished(r), And(moved(r), after.full(r, problem))),
    )


# -- Actions of the profiles -------------------------------------------------------------------------


def receive(problem: Problem, state: State, row: ArithRef, token: ArithRef) -> State:
    """Deal with one row of a padded reply, as a loop over the rows does; the row of an idle slot is dropped."""
    owner = state.slot(row)
    held = owner != FREE
    after = replace(
        state,
        size=lambda r: If(And(held, r == owner), state.size(r) + 1, state.size(r)),
        token=lambda r, i: If(And(held, r == owner, i == state.size(r)), token, state.token(r, i)),
    )
    ends = And(held, after.full(owner, problem))
    return replace(
        after,
        slot=lambda s: If(And(s == row, ends), FREE, state.slot(s)),
        finished=lambda r: Or(state.finished(r), And(r == owner, ends)),
    )


def forward(problem: Problem, state: State, chunk: Index) -> State:
    """Append to the line of each held slot s the next `chunk(s)` tokens of its request's prefix."""

    def fed(s: ArithRef) -> ArithRef:
        return If(state.slot(s) == FREE, state.line_size(s), state.line_size(s) + chunk(s))

    def line(s: ArithRef, i: ArithRef) -> ArithRef:
        new = And(state.line_size(s) <= i, i < fed(s))
        return If(new, state.prefix(state.slot(s), i, problem), state.line(s, i))

    return replace(state, line_size=fed, line=line)


def advance_cached(problem: Problem, state: State, reply: Index, chunk: Index) -> State:
    """Feed a chunk to each line; the reply counts where the line then holds the whole prefix."""
    fed = forward(problem, state, chunk)
    return advance(problem, fed, reply, lambda r: fed.unfed(state.home(r), problem) == 0)


def abort(problem: Problem, state: State, gone: ArithRef) -> State:
    """Take `gone` out of its slot or out of the queue; nothing happens where it is in neither."""
    queued, runs, hole = state.waiting(gone), state.running(gone, problem), state.place(gone)
    ends = Or(queued, runs)
    return replace(
        state,
        back=If(queued, state.back - 1, state.back),
        cursor=IntVal(0),
        queue=lambda i: If(And(queued, i >= hole), state.queue(i + 1), state.queue(i)),
        place=lambda r: If(And(queued, state.waiting(r), state.place(r) > hole), state.place(r) - 1, state.place(r)),
        slot=lambda s: If(And(runs, s == state.home(gone)), FREE, state.slot(s)),
        finished=lambda r: Or(state.finished(r), And(r == gone, ends)),
        aborted=lambda r: Or(state.aborted(r), And(r == gone, ends)),
    )


def exchange(problem: Problem, state: State, here: ArithRef) -> State:
    """Send the request in slot `here` to the back of the queue, and give the slot to the head, its line emptied."""
    old, new = state.slot(here), state.queue(state.front)
    return replace(
        state,
        front=state.front + 1,
        back=state.back + 1,
        queue=lambda i: If(i == state.back, old, state.queue(i)),
        place=lambda r: If(r == old, state.back, state.place(r)),
        slot=lambda s: If(s == here, new, state.slot(s)),
        home=lambda r: If(r == new, here, state.home(r)),
        line_size=lambda s: If(s == here, 0, state.line_size(s)),
    )


# -- Invariants, named as in `reference.transitions` where they are there ----------------------------


def ranges(problem: Problem, state: State) -> BoolRef:
    """The ends of the queue and the cursor of `admit` stay in their ranges."""
    queue = And(state.count >= 0, state.front >= 0, state.front <= state.back)
    return And(queue, state.cursor >= 0, state.cursor <= problem.num_slots)


def slots_known(problem: Problem, state: State) -> BoolRef:
    """A slot is free or holds a request that arrived, and is that request's home."""

    def known(s: ArithRef) -> BoolRef:
        r = state.slot(s)
        return Or(r == FREE, And(r >= 0, r < state.count, state.home(r) == s))

    return problem.every(0, problem.num_slots, known)


def queue_known(problem: Problem, state: State) -> BoolRef:
    """The queue holds requests that arrived, each once."""

    def known(i: ArithRef) -> BoolRef:
        r = state.queue(i)
        return And(r >= 0, r < state.count, state.place(r) == i)

    return problem.every(state.front, state.back, known)


def slots_distinct(problem: Problem, state: State) -> BoolRef:
    """No request is in two slots."""

    def distinct(s: ArithRef) -> BoolRef:
        return problem.every(0, s, lambda t: Or(state.slot(s) == FREE, state.slot(s) != state.slot(t)))

    return problem.every(0, problem.num_slots, distinct)


def partition(problem: Problem, state: State) -> BoolRef:
    """Every request is waiting, running or finished, and only one of them."""

    def one(r: ArithRef) -> BoolRef:
        waits, runs, ended = state.waiting(r), state.running(r, problem), state.finished(r)
        return And(Or(waits, runs, ended), Not(And(waits, runs)), Not(And(waits, ended)), Not(And(runs, ended)))

    return problem.every(0, state.count, one)


def within_limits(problem: Problem, state: State) -> BoolRef:
    """No request has more tokens than its limit."""
    return problem.every(0, state.count, lambda r: And(state.size(r) >= 0, state.size(r) <= problem.limit(r)))


def full_means_finished(problem: Problem, state: State) -> BoolRef:
    """A request has finished, other than by an abort, if and only if it ends with the stop token or is at its limit."""

    def agrees(r: ArithRef) -> BoolRef:
        ended, aborted = state.finished(r), state.aborted(r)
        return And(Implies(aborted, ended), And(ended, Not(aborted)) == state.full(r, problem))

    return problem.every(0, state.count, agrees)


def stop_is_last(problem: Problem, state: State) -> BoolRef:
    """No token but the last is the stop token."""

    def last(r: ArithRef) -> BoolRef:
        return problem.every(0, state.size(r) - 1, lambda i: state.token(r, i) != problem.stop_token)

    return problem.every(0, state.count, last)


def waiting_untouched(problem: Problem, state: State) -> BoolRef:
    """A waiting request has no tokens."""
    return problem.every(state.front, state.back, lambda i: state.size(state.queue(i)) == 0)


def admitted(problem: Problem, state: State, r: ArithRef) -> BoolRef:
    return Or(state.running(r, problem), And(state.finished(r), problem.limit(r) > 0, Not(state.aborted(r))))


def fifo(problem: Problem, state: State) -> BoolRef:
    """The queue is in the order of arrival, and whoever was admitted arrived before all who wait."""

    def behind(i: ArithRef) -> BoolRef:
        earlier = problem.every(state.front, i, lambda j: state.queue(j) < state.queue(i))
        before = problem.every(0, state.count, lambda r: Implies(admitted(problem, state, r), r < state.queue(i)))
        return And(earlier, before)

    return problem.every(state.front, state.back, behind)


def scanned(problem: Problem, state: State) -> BoolRef:
    """No slot that `admit` has looked at since the last change is idle beside a waiting request."""
    return Or(state.front == state.back, problem.every(0, state.cursor, lambda s: state.slot(s) != FREE))


def no_idle_slot(problem: Problem, state: State) -> BoolRef:
    """At a call, no slot is idle beside a waiting request."""
    return Or(state.front == state.back, problem.every(0, problem.num_slots, lambda s: state.slot(s) != FREE))


Invariant = Callable[[Problem, State], BoolRef]
INVARIANTS: tuple[Invariant, ...] = (
    ranges, slots_known, queue_known, slots_distinct, partition, within_limits, full_means_finished,
    stop_is_last, waiting_untouched, fifo, scanned,
)  # fmt: skip
