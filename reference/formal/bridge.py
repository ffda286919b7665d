"""The comparison of the two transition systems: that of `system`, for z3, and `reference.transitions`.

`agrees` evaluates an encoded action on a concrete state and holds the result against Python's. Building
terms is slow and computing with them is not: so each action is applied once to a state of constants, for
every shape, and a concrete state is put in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import NamedTuple

from z3 import ArithRef, BoolVal, ExprRef, Function, If, Int, IntSort, IntVal, simplify, substitute

from reference import transitions
from reference.formal.system import (
    INVARIANTS,
    Index,
    Problem,
    State,
    admit,
    advance,
    arrive,
    initial,
    no_idle_slot,
    receive,
)


class Shape(NamedTuple):
    slots: int
    requests: int
    longest: int

    @classmethod
    def of(cls, problem: transitions.Problem) -> Shape:
        return cls(problem.num_slots, len(problem.prompts), max(problem.limits, default=0))


Encoded = Callable[[Problem, State, Index], State]
Seen = Callable[[Shape, Problem, State, Index], list[ArithRef]]


def numbers(
    problem: transitions.Problem, state: transitions.State, replies: dict[int, int]
) -> Iterator[tuple[str, list[int]]]:
    """Write a state of `reference.transitions` as lists of numbers, one for each function of an encoded state."""
    shape, requests = Shape.of(problem), range(len(problem.prompts))
    yield "stop_token", [problem.stop_token]
    yield "limit", list(problem.limits)
    yield "back", [len(state.waiting)]
    yield "queue", [*state.waiting, *[-1] * (len(requests) - len(state.waiting))]
    yield "slot", [-1 if r is None else r for r in state.slots]
    yield "size", [len(tokens) for tokens in state.generated]
    yield "token", [token for tokens in state.generated for token in [*tokens, *[-1] * (shape.longest - len(tokens))]]
    yield "finished", [int(r in state.finished) for r in requests]
    yield "home", [state.slots.index(r) if r in state.slots else -1 for r in requests]
    yield "place", [state.waiting.index(r) if r in state.waiting else -1 for r in requests]
    yield "reply", [replies.get(r, -1) for r in requests]


@cache
def constant(name: str, i: int) -> ArithRef:
    return Int(f"{name}[{i}]")


def constants(shape: Shape) -> tuple[Problem, State, Index]:
    """Make a state of constants `name[i]`, with -1 outside of them."""

    def table(name: str, length: int) -> Index:
        def at(x: ArithRef) -> ArithRef:
            value = IntVal(-1)
            for i in range(length):
                value = If(x == i, constant(name, i), value)
            return value

        return at

    slots, requests, longest = shape
    names = ("limit", "queue", "size", "finished", "home", "place", "reply")
    of_request, token = {name: table(name, requests) for name in names}, table("token", requests * longest)
    problem = Problem(
        num_slots=IntVal(slots), stop_token=constant("stop_token", 0), limit=of_request["limit"],
        prompt_size=lambda r: IntVal(0), prompt=lambda r, i: IntVal(0), bound=max(shape),
    )  # fmt: skip
    return problem, State(
        count=IntVal(requests), front=IntVal(0), back=constant("back", 0), cursor=IntVal(0), queue=of_request["queue"],
        slot=table("slot", slots), size=of_request["size"], token=lambda r, i: token(r * longest + i),
        finished=lambda r: of_request["finished"](r) == 1, aborted=lambda r: BoolVal(False),
        line_size=lambda s: IntVal(0), line=lambda s, i: IntVal(0), home=of_request["home"], place=of_request["place"],
    ), of_request["reply"]  # fmt: skip


@cache
def compiled(seen: Seen, shape: Shape) -> ExprRef:
    terms = seen(shape, *constants(shape))
    return simplify(Function("seen", *[IntSort()] * (len(terms) + 1))(*terms))


def evaluate(seen: Seen, problem: transitions.Problem, state: transitions.State, replies: dict[int, int]) -> list[int]:
    """Compute what is `seen` of a concrete state and the replies to it."""
    given = [
        (constant(name, i), IntVal(value))
        for name, values in numbers(problem, state, replies)
        for i, value in enumerate(values)
    ]
    return [term.as_long() for term in simplify(substitute(compiled(seen, Shape.of(problem)), *given)).children()]


@cache
def effect(encoded: Encoded) -> Seen:
    """List what there is to see of the state that an action leaves, in the order in which `decode` reads it."""

    def seen(shape: Shape, problem: Problem, state: State, reply: Index) -> list[ArithRef]:
        after, who = encoded(problem, state, reply), range(shape.requests)
        return [
            after.back - after.front,
            *(after.queue(after.front + i) for i in who),
            *(after.slot(IntVal(s)) for s in range(shape.slots)),
            *(after.size(IntVal(r)) for r in who),
            *(If(after.finished(IntVal(r)), 1, 0) for r in who),
            *(after.token(IntVal(r), IntVal(i)) for r in who for i in range(shape.longest)),
        ]

    return seen


def decode(shape: Shape, values: list[int]) -> transitions.State:
    (waiting, *rest), (slots, requests, longest) = values, shape
    numbers = iter(rest)
    queue, held, sizes, finished = (list(islice(numbers, n)) for n in (requests, slots, requests, requests))
    tokens = [tuple(islice(numbers, longest)) for _ in range(requests)]
    return transitions.State(
        tuple(queue[:waiting]),
        tuple(None if r == -1 else r for r in held),
        tuple(tokens[r][: sizes[r]] for r in range(requests)),
        frozenset(r for r in range(requests) if finished[r]),
    )


def arrive_all(problem: Problem, state: State, reply: Index) -> State:
    """Let as many requests as `state` has arrive in an empty system."""
    begun = initial(problem, state)
    for _ in range(state.count.as_long()):
        begun = arrive(problem, begun)
    return begun


def admit_all(problem: Problem, state: State, reply: Index) -> State:
    """Look at every slot once."""
    for _ in range(problem.num_slots.as_long()):
        state = admit(problem, state)
    return state


def receive_all(problem: Problem, state: State, reply: Index) -> State:
    """Read a padded reply row by row."""
    rows = [reply(state.slot(IntVal(s))) for s in range(problem.num_slots.as_long())]
    for s, row in enumerate(rows):
        state = receive(problem, state, IntVal(s), row)
    return state


ACTIONS: dict[str, tuple[Encoded, ...]] = {
    "initial": (arrive_all,),
    "admit": (admit_all,),
    "advance": (advance, receive_all),
}


def agrees(
    name: str, encoded: Encoded, problem: transitions.Problem, state: transitions.State, replies: dict[int, int]
) -> bool:
    """Tell whether `encoded` does to a concrete state what the action `name` of `reference.transitions` does."""
    python = {
        "initial": lambda: transitions.initial(problem),
        "admit": lambda: transitions.admit(state),
        "advance": lambda: transitions.advance(problem, state, replies),
    }
    return decode(Shape.of(problem), evaluate(effect(encoded), problem, state, replies)) == python[name]()


PREDICATES = tuple(i for i in (*INVARIANTS, no_idle_slot) if hasattr(transitions, i.__name__))


def predicates(shape: Shape, problem: Problem, state: State, reply: Index) -> list[ArithRef]:
    """List which invariants that both sides name are true, 1 or 0."""
    return [If(predicate(problem, state), 1, 0) for predicate in PREDICATES]
