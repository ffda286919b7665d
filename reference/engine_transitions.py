"""The formal model of an engine: the transition system of `transitions.py`, with an environment that acts.

The environment submits, aborts, begins a step, and plays the language model: it answers a call or fails
it. The engine only chooses rows for a call and outputs for a step, and has hardly a choice: everything
but the order of rows and of unrelated outputs is determined. Each function below is one action. Those
of the environment return the state after it; those of the engine return None where the action is not
allowed in `state`.

Submissions are known by number, so that an id can be used again. `engine.py` and this file do not
import each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from reference.transitions import Tokens, assignments
from reference.vocabulary import FinishReason

Phase = Literal["idle", "begun", "asked", "answered", "failed", "misanswered"]
Emission = tuple[str, int | None, FinishReason | None]


@dataclass(frozen=True)
class EngineRules:
    """What stays fixed while an engine lives."""

    num_slots: int
    stop_token: int
    excluded: bool = False
    padded: bool = False


@dataclass(frozen=True)
class Submission:
    """One accepted `add_request`; the limit is in generated tokens."""

    request_id: str
    prompt: Tokens
    limit: int


@dataclass(frozen=True)
class Ending:
    """An ending that was not yet delivered; `due` when the step that is under way has to deliver it."""

    submission: int
    reason: FinishReason
    due: bool = False


@dataclass(frozen=True)
class EngineState:
    """`waiting` and `running` hold submissions, in order; `generated[s]` is submission s's.

    `rows` and `flight` are the batch of the call under way and whose rows they are, and `said` what the
    model replied to each of those. A submission that is in neither queue has an ending, or had it.
    """

    submissions: tuple[Submission, ...] = ()
    waiting: tuple[int, ...] = ()
    running: tuple[int, ...] = ()
    generated: tuple[Tokens, ...] = ()
    endings: tuple[Ending, ...] = ()
    phase: Phase = "idle"
    rows: tuple[Tokens, ...] = ()
    flight: tuple[int, ...] = ()
    said: tuple[tuple[int, int], ...] = ()


def live(state: EngineState, request_id: str) -> int | None:
    """The submission that has the id now: neither aborted, nor was its ending delivered."""
    ending = [ending.submission for ending in state.endings if ending.reason != "abort"]
    for number in (*state.waiting, *state.running, *ending):
        if state.submissions[number].request_id == request_id:
            return number
    return None


def unfinished(state: EngineState) -> bool:
    return bool(state.waiting or state.running or state.endings)


# -- Actions of the environment -----------------------------------------------------------------------


def submit(state: EngineState, request_id: str, prompt: Tokens, limit: int) -> EngineState | None:
    """Queue a request; None where a live one has its id, so that it must be refused."""
    if live(state, request_id) is not None:
        return None
    number = len(state.submissions)
    return replace(
        state,
        submissions=(*state.submissions, Submission(request_id, prompt, limit)),
        generated=(*state.generated, ()),
        waiting=(*state.waiting, number) if limit else state.waiting,
        endings=state.endings if limit else (*state.endings, Ending(number, "length")),
    )


def abort(state: EngineState, request_id: str) -> EngineState:
    """End a live submission; its row may be with the model, but its token will be nobody's."""
    number = live(state, request_id)
    if number is None:
        return state
    due = any(ending.submission == number and ending.due for ending in state.endings)
    return replace(
        state,
        waiting=tuple(s for s in state.waiting if s != number),
        running=tuple(s for s in state.running if s != number),
        endings=(*(e for e in state.endings if e.submission != number), Ending(number, "abort", due)),
    )


def begin(rules: EngineRules, state: EngineState) -> EngineState:
    """Begin a step: the head of the queue enters the free slots, and every ending that waits becomes due."""
    room = rules.num_slots - len(state.running)
    return replace(
        state,
        running=state.running + state.waiting[:room],
        waiting=state.waiting[room:],
        endings=tuple(replace(ending, due=True) for ending in state.endings),
        phase="begun",
    )


def answer(state: EngineState, replies: Sequence[int]) -> Iterator[EngineState]:
    """Answer the call: one state for each way to share the replies among equal rows."""
    wanted = {number: prefix(state, number) for number in state.flight}
    for given in assignments(state.rows, replies, wanted):
        yield replace(state, said=tuple(sorted(given.items())), phase="answered")


def fail(state: EngineState) -> EngineState:
    """Raise from the call."""
    return replace(state, phase="failed")


def misanswer(state: EngineState) -> EngineState:
    """Answer the call with a wrong number of tokens, which the engine has to make an error of."""
    return replace(state, phase="misanswered")


# -- Actions of the engine ----------------------------------------------------------------------------


def prefix(state: EngineState, number: int) -> Tokens:
    return state.submissions[number].prompt + state.generated[number]


def call(rules: EngineRules, state: EngineState, rows: Sequence[Tokens]) -> EngineState | None:
    """Ask the model for all that run, in any order, and with pads up to `num_slots` rows if padded; once a step."""
    wanted = [prefix(state, number) for number in state.running]
    if state.phase != "begun" or not wanted or len(rows) != (rules.num_slots if rules.padded else len(wanted)):
        return None
    if any(list(rows).count(row) < wanted.count(row) for row in wanted):
        return None
    return replace(state, phase="asked", rows=tuple(rows), flight=state.running)


def deliver(rules: EngineRules, state: EngineState, outputs: Sequence[Emission]) -> EngineState | None:
    """Return from the step: a token of each running request, the endings that are due, and any that are not yet.

    Outputs of submissions with one id come in the order of the submissions.
    """
    if state.phase != "answered" and not (state.phase == "begun" and not state.running):
        return None
    after = _advance(rules, state)
    owed = sorted([*_endings(state), *_tokens(rules, state, after)])
    queues: dict[str, list[tuple[int, bool, Emission]]] = {}
    for number, must, emission in owed:
        queues.setdefault(emission[0], []).append((number, must, emission))
    delivered = set()
    for emission in outputs:
        queue = queues.get(emission[0])
        if not queue or queue[0][2] != tuple(emission):
            return None
        delivered.add(queue.pop(0)[0])
    if any(must for queue in queues.values() for _, must, _ in queue):
        return None
    return replace(after, endings=tuple(e for e in after.endings if e.submission not in delivered))


def surface(state: EngineState) -> EngineState | None:
    """Raise from the step, because the call failed or was misanswered; it might as well not have been."""
    failed = state.phase in ("failed", "misanswered")
    return replace(state, phase="idle", rows=(), flight=(), said=()) if failed else None


def _endings(state: EngineState) -> Iterator[tuple[int, bool, Emission]]:
    for ending in state.endings:
        yield ending.submission, ending.due, (state.submissions[ending.submission].request_id, None, ending.reason)


def _tokens(rules: EngineRules, state: EngineState, after: EngineState) -> Iterator[tuple[int, bool, Emission]]:
    for number, token in state.said:
        if number in state.running:
            stopped = token == rules.stop_token
            over = number not in after.running
            reason: FinishReason | None = ("stop" if stopped else "length") if over else None
            shown = None if stopped and rules.excluded else token
            yield number, True, (state.submissions[number].request_id, shown, reason)


def _advance(rules: EngineRules, state: EngineState) -> EngineState:
    """Append the replies of those that still run; the full ones leave."""
    generated, running = list(state.generated), []
    said = dict(state.said)
    for number in state.running:
        generated[number] += (said[number],) if number in said else ()
        full = (
            generated[number][-1:] == (rules.stop_token,) or len(generated[number]) == state.submissions[number].limit
        )
        if not full:
            running.append(number)
    return replace(state, generated=tuple(generated), running=tuple(running), phase="idle", rows=(), flight=(), said=())
