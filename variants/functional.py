"""A fold: a state that never changes, and pure functions from one state to the next.

The scheduler is `admit` and `advance`; only the loop at the end touches the model. The queue is an index
into the requests, so that a new state costs no more than its running sequences.
"""

from __future__ import annotations

from typing import NamedTuple

from reference.vocabulary import MockModel, Request, check_arguments


class Sequence(NamedTuple):
    request: Request
    generated: tuple[int, ...] = ()

    def row(self) -> list[int]:
        return [*self.request.prompt, *self.generated]

    def full(self, stop_token: int) -> bool:
        return self.generated[-1:] == (stop_token,) or len(self.generated) == self.request.max_tokens


class State(NamedTuple):
    running: tuple[Sequence, ...]
    admitted: int
    """How many of the arrivals have been admitted."""


def admit(state: State, arrivals: tuple[Request, ...], num_slots: int) -> State:
    until = min(len(arrivals), state.admitted + num_slots - len(state.running))
    newcomers = map(Sequence, arrivals[state.admitted : until])
    return State((*state.running, *newcomers), until)


def advance(state: State, tokens: list[int]) -> State:
    given = zip(state.running, tokens, strict=True)
    # Unpacking into a tuple builds a list first, which long outputs notice.
    return state._replace(running=tuple(Sequence(one.request, one.generated + (token,)) for one, token in given))  # noqa: RUF005


def part(state: State, stop_token: int) -> tuple[State, dict[str, list[int]]]:
    finished = {one.request.request_id: list(one.generated) for one in state.running if one.full(stop_token)}
    return state._replace(running=tuple(one for one in state.running if not one.full(stop_token))), finished


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    arrivals = tuple(request for request in requests if request.max_tokens > 0)
    state = admit(State((), 0), arrivals, num_slots)
    while state.running:
        after = advance(state, model.next_tokens([one.row() for one in state.running]))
        survivors, finished = part(after, stop_token)
        results.update(finished)
        state = admit(survivors, arrivals, num_slots)
    return results
