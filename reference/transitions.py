"""The formal model: dynamic batching as a transition system.

A *state* says which requests wait, which run in which slot with which tokens, and which have
finished. Two *actions* change it: `admit` fills the free slots before a call, and `advance` gives
every running request the token of its row. Nothing else happens, so a run of an implementation is
a path of this system, or it is wrong. `replay` decides which, up to what the question leaves free:
the order of rows, the slot a request gets, the key order of the result.

`generate` and this file do not import each other; their agreement is tested, not built in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product

from reference.vocabulary import Dialect, Request

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Problem:
    """What stays fixed during a run. A request is known by its index in `prompts`; `limits` are in generated tokens."""

    prompts: tuple[Tokens, ...]
    limits: tuple[int, ...]
    num_slots: int
    stop_token: int

    @classmethod
    def of(cls, requests: Sequence[Request], num_slots: int, stop_token: int, dialect: Dialect = Dialect()) -> Problem:
        return cls(
            tuple(tuple(request.prompt) for request in requests),
            tuple(dialect.limit(request) for request in requests),
            num_slots,
            stop_token,
        )


@dataclass(frozen=True)
class State:
    """`slots[s]` is the request in slot s or None; `waiting` is in order of arrival; `generated[r]` is request r's."""

    waiting: tuple[int, ...]
    slots: tuple[int | None, ...]
    generated: tuple[Tokens, ...]
    finished: frozenset[int]

    @property
    def running(self) -> tuple[int, ...]:
        return tuple(request for request in self.slots if request is not None)


def initial(problem: Problem) -> State:
    """Everything waits, but for the requests with nothing to generate, which have finished."""
    count = len(problem.prompts)
    done = frozenset(r for r in range(count) if problem.limits[r] == 0)
    waiting = tuple(r for r in range(count) if r not in done)
    return State(waiting, (None,) * problem.num_slots, ((),) * count, done)


def admit(state: State) -> State:
    """Fill every free slot from the head of the queue, lowest slot first."""
    slots, waiting = list(state.slots), list(state.waiting)
    for index, occupant in enumerate(slots):
        if occupant is None and waiting:
            slots[index] = waiting.pop(0)
    return replace(state, slots=tuple(slots), waiting=tuple(waiting))


def prefix(problem: Problem, state: State, request: int) -> Tokens:
    """What the model is to see of `request` in the next call."""
    return problem.prompts[request] + state.generated[request]


def full(problem: Problem, request: int, generated: Tokens) -> bool:
    """Whether `generated` is all of `request`: it ends with the stop token, or is at the limit."""
    return generated[-1:] == (problem.stop_token,) or len(generated) == problem.limits[request]


def advance(problem: Problem, state: State, replies: dict[int, int]) -> State:
    """Give each running request its token; the full ones finish and free their slots."""
    generated, slots, finished = list(state.generated), list(state.slots), set(state.finished)
    for index, request in enumerate(state.slots):
        if request is None:
            continue
        generated[request] += (replies[request],)
        if full(problem, request, generated[request]):
            slots[index] = None
            finished.add(request)
    return State(state.waiting, tuple(slots), tuple(generated), frozenset(finished))


def halted(state: State) -> bool:
    return not state.waiting and not state.running


# -- Invariants of a state, as predicates; `explore` holds them in every reachable one. --------------


def slots_distinct(problem: Problem, state: State) -> bool:
    return len(set(state.running)) == len(state.running)


def partition(problem: Problem, state: State) -> bool:
    everyone = sorted([*state.waiting, *state.running, *state.finished])
    return everyone == list(range(len(problem.prompts)))


def within_limits(problem: Problem, state: State) -> bool:
    return all(len(tokens) <= limit for tokens, limit in zip(state.generated, problem.limits, strict=True))


def full_means_finished(problem: Problem, state: State) -> bool:
    return all((r in state.finished) == full(problem, r, tokens) for r, tokens in enumerate(state.generated))


def waiting_untouched(problem: Problem, state: State) -> bool:
    return all(not state.generated[r] for r in state.waiting)


def fifo(problem: Problem, state: State) -> bool:
    admitted = [*state.running, *(r for r in state.finished if problem.limits[r])]
    return list(state.waiting) == sorted(state.waiting) and all(a < w for a in admitted for w in state.waiting)


def no_idle_slot(problem: Problem, state: State) -> bool:
    """Holds at a call, that is, after `admit`."""
    return not state.waiting or None not in state.slots


STATE_INVARIANTS: tuple[Callable[[Problem, State], bool], ...] = (
    slots_distinct,
    partition,
    within_limits,
    full_means_finished,
    waiting_untouched,
    fifo,
)


def explore(problem: Problem, alphabet: Sequence[int]) -> set[State]:
    """Reach every state at a call or at the end, whatever the model replies from `alphabet`.

    Raises AssertionError, naming the invariant and the state, where one is false.
    """
    start = admit(initial(problem))
    reached, frontier = {start}, [start]
    while frontier:
        state = frontier.pop()
        for holds in (*STATE_INVARIANTS, no_idle_slot):
            assert holds(problem, state), f"{holds.__name__} is false in {state}"
        for tokens in product(alphabet, repeat=len(state.running)):
            after = admit(advance(problem, state, dict(zip(state.running, tokens, strict=True))))
            if after not in reached and state.running:
                reached.add(after)
                frontier.append(after)
    return reached


# -- Replay: does a recorded run follow the system? --------------------------------------------------


def assignments(rows: Sequence[Tokens], replies: Sequence[int], wanted: dict[int, Tokens]) -> Iterator[dict[int, int]]:
    """Yield each distinct way to give the replies to the requests whose prefixes are `wanted`.

    Rows with equal prefixes cannot be told apart, so every split of their replies is possible.
    """
    groups: dict[Tokens, list[int]] = {}
    for row, reply in zip(rows, replies, strict=True):
        groups.setdefault(row, []).append(reply)
    choices: list[list[dict[int, int]]] = []
    for row in set(wanted.values()):
        members = [request for request, expected in wanted.items() if expected == row]
        orders = set(permutations(groups.get(row, []), len(members)))
        choices.append([dict(zip(members, order, strict=True)) for order in orders])
    for chosen in product(*choices):
        yield {request: token for part in chosen for request, token in part.items()}


def successors(
    problem: Problem, state: State, rows: Sequence[Tokens], replies: Sequence[int], *, padded: bool = False
) -> set[State]:
    """The states after a call with these rows and replies; none where the call is not allowed in `state`.

    `state` is one after `admit`. A compact call has exactly the running requests' prefixes as rows,
    in any order; a padded one has num_slots rows, those among them, and pads for the rest.
    """
    wanted = {request: prefix(problem, state, request) for request in state.running}
    if not wanted or len(rows) != (problem.num_slots if padded else len(wanted)):
        return set()
    if any(list(rows).count(row) < list(wanted.values()).count(row) for row in wanted.values()):
        return set()
    return {admit(advance(problem, state, given)) for given in assignments(rows, replies, wanted)}


def replay(
    problem: Problem, calls: Iterable[tuple[Sequence[Tokens], Sequence[int]]], *, padded: bool = False
) -> set[State]:
    """The states that explain all the calls, each after `admit`; an empty set where none does."""
    states = {admit(initial(problem))}
    for rows, replies in calls:
        states = {after for state in states for after in successors(problem, state, rows, replies, padded=padded)}
    return states
