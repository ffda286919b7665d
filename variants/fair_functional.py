"""The whole engine is one immutable value, and each event a pure function from the value before to the value after.

A step that raises assigns nothing but who runs, so there is nothing to undo. The stop token is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from reference.vocabulary import FinishReason, MockModel, Request, check_arguments

DIALECT = {"stop_token": "excluded", "max_tokens": "total"}


class StepOutput(NamedTuple):
    request_id: str
    token: int | None
    finish_reason: FinishReason | None


class Job(NamedTuple):
    """`number` tells submissions of one id apart; `until` is the length at which the job may be asked to yield."""

    number: int
    request_id: str
    prefix: tuple[int, ...]
    limit: int
    until: int = 0


@dataclass(frozen=True)
class State:
    running: tuple[Job, ...] = ()
    waiting: tuple[Job, ...] = ()
    endings: tuple[tuple[Job, FinishReason], ...] = ()
    settled: bool = False

    @property
    def live(self) -> dict[str, Job]:
        ended = [job for job, reason in self.endings if reason != "abort"]
        return {job.request_id: job for job in (*self.running, *self.waiting, *ended)}


def added(state: State, job: Job) -> State:
    if job.request_id in state.live:
        raise ValueError(f"{job.request_id!r} is being served")
    if len(job.prefix) >= job.limit:
        return replace(state, endings=(*state.endings, (job, "length")))
    return replace(state, waiting=(*state.waiting, job))


def aborted(state: State, request_id: str) -> State:
    job = state.live.get(request_id)
    if job is None:
        return state
    return replace(
        state,
        running=tuple(other for other in state.running if other.number != job.number),
        waiting=tuple(other for other in state.waiting if other.number != job.number),
        endings=(*(e for e in state.endings if e[0].number != job.number), (job, "abort")),
    )


def seated(state: State, num_slots: int, quantum: int) -> State:
    def entering(jobs: Sequence[Job]) -> tuple[Job, ...]:
        return tuple(job._replace(until=len(job.prefix) + quantum) for job in jobs)

    room = num_slots - len(state.running)
    running, waiting = state.running + entering(state.waiting[:room]), state.waiting[room:]
    due = [job for job in running if len(job.prefix) >= job.until]
    leaving = [] if state.settled else due[: len(waiting)]
    staying = tuple(job for job in running if job not in leaving)
    newcomers, left = waiting[: len(leaving)], waiting[len(leaving) :]
    return replace(state, running=staying + entering(newcomers), waiting=(*left, *leaving), settled=True)


def advanced(state: State, said: dict[int, int], stop_token: int) -> tuple[State, list[StepOutput]]:
    outputs = [StepOutput(job.request_id, None, reason) for job, reason in state.endings]
    staying = []
    for job in state.running:
        if job.number not in said:
            staying.append(job)
            continue
        token = said[job.number]
        after = job._replace(prefix=(*job.prefix, token))
        if token == stop_token:
            outputs.append(StepOutput(job.request_id, None, "stop"))
        elif len(after.prefix) == job.limit:
            outputs.append(StepOutput(job.request_id, token, "length"))
        else:
            outputs.append(StepOutput(job.request_id, token, None))
            staying.append(after)
    return State(tuple(staying), state.waiting), outputs


class Engine:
    def __init__(self, model: MockModel, num_slots: int, stop_token: int, *, quantum: int) -> None:
        check_arguments([], num_slots)
        if quantum < 1:
            raise ValueError("the quantum has to be positive")
        self.model, self.num_slots, self.stop_token, self.quantum = model, num_slots, stop_token, quantum
        self.state, self.submissions = State(), 0

    def add_request(self, request: Request) -> None:
        check_arguments([request], self.num_slots)
        job = Job(self.submissions, request.request_id, tuple(request.prompt), request.max_tokens)
        self.state = added(self.state, job)
        self.submissions += 1

    def abort_request(self, request_id: str) -> None:
        self.state = aborted(self.state, request_id)

    def has_unfinished_requests(self) -> bool:
        return bool(self.state.running or self.state.waiting or self.state.endings)

    def step(self) -> list[StepOutput]:
        self.state = seated(self.state, self.num_slots, self.quantum)
        asked = self.state.running
        replies = self.model.next_tokens([list(job.prefix) for job in asked]) if asked else []
        if len(replies) != len(asked):
            raise ValueError(f"{len(replies)} replies to {len(asked)} rows")
        said = {job.number: reply for job, reply in zip(asked, replies, strict=True)}
        self.state, outputs = advanced(self.state, said, self.stop_token)
        return outputs
