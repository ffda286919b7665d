"""The formal model with lines: the transition system of the core, and what each slot's cache line holds.

Three actions change a state. `reset` empties a line, whosever it is; `forward` is allowed where every
slot's line and row fit; and a forward that is allowed admits, writes and advances at once. Which free
slot a newcomer takes, when a line is emptied, and in how many pieces a prompt is written are free, so
a history is followed by a *set* of states. It is accepted if one of them explains all of it.

This file and `reading` do not import each other; that they agree is tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import TypeVar

from conformance.cached.history import CachedRun, Reset, Row
from conformance.history import Returned
from reference.transitions import Problem, State, Tokens, full, halted, initial, prefix
from reference.vocabulary import Dialect

T = TypeVar("T")


@dataclass(frozen=True)
class CachedState:
    """`core.slots` says whose line is whose; `written` counts the tokens of its prefix that its holder has sent."""

    core: State
    lines: tuple[Tokens, ...]
    written: tuple[int, ...]


def begin(problem: Problem, before: Iterable[Row] = ()) -> CachedState:
    """Nobody holds a slot; the lines are empty, or hold what an earlier run left."""
    left = dict(before)
    lines = tuple(left.get(slot, ()) for slot in range(problem.num_slots))
    return CachedState(initial(problem), lines, (0,) * problem.num_slots)


def reset(state: CachedState, slot: int) -> set[CachedState]:
    """Empty a line. In a slot that is held it is allowed too: at a failure, say; no forward may follow that."""
    if not 0 <= slot < len(state.lines):
        return set()
    return {replace(state, lines=_put(state.lines, slot, ()))}


def forward(problem: Problem, state: CachedState, rows: Sequence[Row], replies: Sequence[int]) -> set[CachedState]:
    """The states after a forward with these rows and replies; none where it is not allowed in `state`."""
    slots = [slot for slot, _ in rows]
    if not rows or len(replies) != len(rows) or len(set(slots)) != len(slots):
        return set()
    if any(not 0 <= slot < problem.num_slots for slot in slots):
        return set()
    states = set()
    for seated in _admitted(state.core, slots):
        after: CachedState | None = replace(state, core=seated)
        for (slot, new), reply in zip(rows, replies, strict=True):
            after = after and _write(problem, after, slot, new, reply)
        if after:
            states.add(after)
    return states


def _admitted(core: State, slots: Sequence[int]) -> Iterator[State]:
    """Seat the head of the queue, in every order, in the free ones of `slots`; then exactly these must be taken."""
    free = [slot for slot in slots if core.slots[slot] is None]
    entering, waiting = core.waiting[: len(free)], core.waiting[len(free) :]
    room = core.slots.count(None) - len(free)
    if len(entering) != len(free) or (waiting and room):
        return
    for order in permutations(entering):
        taken = list(core.slots)
        for slot, request in zip(free, order, strict=True):
            taken[slot] = request
        if {slot for slot, holder in enumerate(taken) if holder is not None} == set(slots):
            yield replace(core, slots=tuple(taken), waiting=waiting)


def _write(problem: Problem, state: CachedState, slot: int, new: Tokens, reply: int) -> CachedState | None:
    """Append a row to the line of whoever holds `slot`, if it is the next piece of that request's prefix."""
    request, line, written = state.core.slots[slot], state.lines[slot], state.written[slot]
    assert request is not None
    target = prefix(problem, state.core, request)
    empty = not target and not state.core.generated[request]
    grown = line + new
    if line != target[:written] or (not new and not empty) or target[: len(grown)] != grown:
        return None
    state = replace(state, lines=_put(state.lines, slot, grown), written=_put(state.written, slot, len(grown)))
    return state if grown != target else _answered(problem, state, slot, request, reply)


def _answered(problem: Problem, state: CachedState, slot: int, request: int, reply: int) -> CachedState:
    """The whole prefix is in the line, so the reply is the request's; full, it leaves the slot, but not the line."""
    core = state.core
    tokens = (*core.generated[request], reply)
    core = replace(core, generated=_put(core.generated, request, tokens))
    if not full(problem, request, tokens):
        return replace(state, core=core)
    left = replace(core, slots=_put(core.slots, slot, None), finished=core.finished | {request})
    return replace(state, core=left, written=_put(state.written, slot, 0))


def _put(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    return (*items[:index], item, *items[index + 1 :])


def accepted(run: CachedRun, dialect: Dialect) -> bool:
    """Whether the system explains a run that returned: its forwards, its resets, and what it returned."""
    outcome, workload = run.outcome, run.workload
    if not isinstance(outcome, Returned) or outcome.malformed or len(dict(outcome.pairs)) != len(outcome.pairs):
        return False
    problem = Problem.of(workload.requests(), workload.num_slots, workload.stop_token, dialect)
    states = {begin(problem, run.before)}
    for op in run.ops:
        if op.malformed:
            return False
        if isinstance(op, Reset):
            states = {after for state in states for after in reset(state, op.slot)}
        else:
            states = {after for state in states for after in forward(problem, state, op.rows, op.replies or ())}
    return any(
        dict(outcome.pairs)
        == {
            ask.request_id: tuple(dialect.output(tokens, workload.stop_token))
            for ask, tokens in zip(workload.asks, state.core.generated, strict=True)
        }
        for state in states
        if halted(state.core)
    )


# -- Everything that can happen, and what is true all the while -----------------------------------------


def explore(problem: Problem, alphabet: Sequence[int]) -> set[CachedState]:
    """Reach every state, whatever the model replies, however prompts are cut, whenever lines are emptied.

    Raises AssertionError where an invariant of states is false.
    """
    start = begin(problem)
    reached, frontier = {start}, [start]
    while frontier:
        state = frontier.pop()
        for holds in (in_step, nobody_shares):
            assert holds(problem, state), f"{holds.__name__} is false in {state}"
        for after in _next(problem, state, alphabet):
            if after not in reached:
                reached.add(after)
                frontier.append(after)
    return reached


def _next(problem: Problem, state: CachedState, alphabet: Sequence[int]) -> Iterator[CachedState]:
    for slot, line in enumerate(state.lines):
        if line and state.core.slots[slot] is None:
            yield from reset(state, slot)
    held = [slot for slot, holder in enumerate(state.core.slots) if holder is not None]
    free = [slot for slot in range(problem.num_slots) if slot not in held]
    for seats in permutations(free, min(len(free), len(state.core.waiting))):
        seated = list(state.core.slots)
        for slot, request in zip(seats, state.core.waiting, strict=False):
            seated[slot] = request
        pieces = [_pieces(problem, state, slot, seated[slot]) for slot in (*held, *seats)]
        for news in product(*pieces):
            rows = list(zip((*held, *seats), news, strict=True))
            for replies in product(alphabet, repeat=len(rows)):
                yield from forward(problem, state, rows, replies)


def _pieces(problem: Problem, state: CachedState, slot: int, request: int | None) -> list[Tokens]:
    """Every row that `request` could have next."""
    assert request is not None
    rest = prefix(problem, state.core, request)[state.written[slot] :]
    return [rest[:size] for size in range(1, len(rest) + 1)] or [()]


def in_step(problem: Problem, state: CachedState) -> bool:
    """The line of a slot that is held is the beginning of its holder's prefix, as long as was written."""
    return all(
        state.lines[slot] == prefix(problem, state.core, holder)[: state.written[slot]]
        for slot, holder in enumerate(state.core.slots)
        if holder is not None
    )


def nobody_shares(problem: Problem, state: CachedState) -> bool:
    """No line holds more than one request: each is the beginning of one prefix."""
    prefixes = [prefix(problem, state.core, request) for request in range(len(problem.prompts))]
    return all(any(whole[: len(line)] == line for whole in prefixes) for line in state.lines)
