"""A null object in every idle slot: busy and idle slots answer to the same two methods.

The step has no test for "is this a pad row": an idle slot has a row as well, and takes its token by staying
idle. The stop token is not returned.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from reference.vocabulary import MockModel, Request, check_arguments

DIALECT = {"batch": "padded", "stop_token": "excluded"}


class Slot(Protocol):
    def row(self) -> list[int]: ...

    def after(self, token: int, stop_token: int) -> Slot: ...


class Idle:
    def row(self) -> list[int]:
        return []

    def after(self, token: int, stop_token: int) -> Slot:
        return self


class Busy:
    def __init__(self, request: Request, output: list[int]) -> None:
        self.request, self.output = request, output

    def row(self) -> list[int]:
        return [*self.request.prompt, *self.output]

    def after(self, token: int, stop_token: int) -> Slot:
        if token == stop_token:
            return IDLE
        self.output.append(token)
        return IDLE if len(self.output) == self.request.max_tokens else self


IDLE = Idle()


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = deque(Busy(request, results[request.request_id]) for request in requests if request.max_tokens > 0)
    slots: list[Slot] = [IDLE] * num_slots
    while True:
        slots = [waiting.popleft() if waiting and slot is IDLE else slot for slot in slots]
        if all(slot is IDLE for slot in slots):
            return results
        tokens = model.next_tokens([slot.row() for slot in slots])
        slots = [slot.after(token, stop_token) for slot, token in zip(slots, tokens, strict=True)]
