"""The bridge from z3 to Python: encoded actions and invariants, evaluated on every small concrete state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations, product

from z3 import ArithRef, If, IntVal

from reference import transitions
from reference.formal import bridge, system
from reference.formal.bridge import Encoded, Seen, Shape
from reference.formal.system import Index, Problem, State

STOP, GO = 0, 1
Step = tuple[str, transitions.Problem, transitions.State, dict[int, int]]


@dataclass(frozen=True)
class Compared:
    """How many comparisons were made, by kind; how many found a difference, and the first of those."""

    counts: Mapping[Hashable, int]
    differ: int = 0
    first: str = ""

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def compare(results: Iterator[tuple[Hashable, bool, object]]) -> Compared:
    """Count the (kind, whether both sides agree, what was compared) of a comparison."""
    counts: Counter[Hashable] = Counter()
    differ, first = 0, ""
    for kind, agree, what in results:
        counts[kind] += 1
        if not agree:
            differ, first = differ + 1, first or str(what)
    return Compared(dict(counts), differ, first)


# -- Actions -----------------------------------------------------------------------------------------


def problems() -> Iterator[transitions.Problem]:
    """Yield up to two requests of up to two tokens with one or two slots, and three of at most one with up to three."""
    for count, longest, most_slots in ((0, 0, 2), (1, 2, 2), (2, 2, 2), (3, 1, 3)):
        for limits, slots in product(product(range(longest + 1), repeat=count), range(1, most_slots + 1)):
            yield transitions.Problem(((),) * count, limits, slots, STOP)


def replies_to(state: transitions.State) -> Iterator[dict[int, int]]:
    for tokens in product((STOP, GO), repeat=len(state.running)):
        yield dict(zip(state.running, tokens, strict=True))


def states(problem: transitions.Problem) -> set[transitions.State]:
    """Reach every state that the actions lead to, in any order: calls beside idle slots are in it."""
    reached: set[transitions.State] = set()
    frontier = [transitions.initial(problem)]
    while frontier:
        state = frontier.pop()
        if state not in reached:
            reached.add(state)
            frontier.append(transitions.admit(state))
            frontier += [transitions.advance(problem, state, replies) for replies in replies_to(state)]
    return reached


def small_steps() -> Iterator[Step]:
    for problem in problems():
        yield "initial", problem, transitions.initial(problem), {}
        for state in states(problem):
            yield "admit", problem, state, {}
            yield from (("advance", problem, state, replies) for replies in replies_to(state))


def compare_actions(encodings: Mapping[str, tuple[Encoded, ...]] = bridge.ACTIONS) -> Compared:
    """Compare each encoding of an action with Python's, on every small state."""
    return compare(
        (name, bridge.agrees(name, encoded, problem, state, replies), (name, state, replies))
        for name, problem, state, replies in small_steps()
        for encoded in encodings.get(name, ())
    )


def forgetful(problem: Problem, state: State, reply: Index) -> State:
    """Advance, but free the slot of a request at its limit only, not of one that was stopped."""
    after = system.advance(problem, state, reply)

    def slot(s: ArithRef) -> ArithRef:
        return If(after.size(state.slot(s)) == problem.limit(state.slot(s)), system.FREE, state.slot(s))

    return replace(after, slot=slot)


# -- Invariants --------------------------------------------------------------------------------------


def any_states(problem: transitions.Problem) -> Iterator[transitions.State]:
    """Yield good and bad states of two requests: anything may be anywhere, but no request is twice in the queue."""
    queues = [queue for length in range(3) for queue in permutations(range(2), length)]
    tokens = [(), (STOP,), (GO, GO)]
    ended = [frozenset[int](), frozenset({0}), frozenset({1}), frozenset({0, 1})]
    for waiting, slots, generated, finished in product(
        queues, product((None, 0, 1), repeat=problem.num_slots), product(tokens, repeat=2), ended
    ):
        yield transitions.State(waiting, slots, generated, finished)


def compare_invariants(seen: Seen = bridge.predicates) -> Compared:
    """Compare each invariant that both sides name; where a request is in two slots, only the one on that."""
    return compare(_invariants(seen))


def _invariants(seen: Seen) -> Iterator[tuple[bool, bool, object]]:
    names = [predicate.__name__ for predicate in bridge.PREDICATES]
    problem = transitions.Problem(((), ()), (1, 2), 2, STOP)
    for state in any_states(problem):
        found = dict(zip(names, bridge.evaluate(seen, problem, state, {}), strict=True))
        distinct = transitions.slots_distinct(problem, state)
        for name in names if distinct else ["slots_distinct"]:
            expected: bool = getattr(transitions, name)(problem, state)
            yield expected, bool(found[name]) == expected, (name, state)


def always_true(shape: Shape, problem: Problem, state: State, reply: Index) -> list[ArithRef]:
    """Say of every invariant that it is true."""
    return [IntVal(1)] * len(bridge.PREDICATES)
