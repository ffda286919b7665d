"""Permanent slots, whose lines are emptied when the next request is seated.

What a newcomer must find clean is written in one place, `seat`, which needs no knowledge of how the last
request left. The price: the lines of the last requests hold their text until somebody else comes.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from reference.vocabulary import Request, check_arguments


class CachedModel(Protocol):
    def forward(self, batch: list[tuple[int, list[int]]]) -> list[int]: ...

    def reset(self, slot: int) -> None: ...


class Slot:
    def __init__(self, number: int, model: CachedModel) -> None:
        self.number, self.model = number, model
        self.request: Request | None = None
        self.next_row: list[int] = []
        self.generated: list[int] = []

    def seat(self, request: Request) -> None:
        self.model.reset(self.number)
        self.request, self.next_row, self.generated = request, list(request.prompt), []

    def take(self, token: int, stop_token: int) -> bool:
        """Take a token, and tell whether the request is full with it."""
        assert self.request is not None
        self.generated.append(token)
        self.next_row = [token]
        return token == stop_token or len(self.generated) == self.request.max_tokens


def generate_cached(
    model: CachedModel, requests: list[Request], num_slots: int, stop_token: int
) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens)
    slots = [Slot(number, model) for number in range(min(num_slots, len(waiting)))]
    while True:
        for slot in slots:
            if slot.request is None and waiting:
                slot.seat(waiting.popleft())
        busy = [(slot, slot.request) for slot in slots if slot.request is not None]
        if not busy:
            return results
        tokens = model.forward([(slot.number, slot.next_row) for slot, _ in busy])
        if len(tokens) != len(busy):
            raise ValueError(f"{len(busy)} rows were sent, and {len(tokens)} tokens came back")
        for (slot, request), token in zip(busy, tokens, strict=True):
            if slot.take(token, stop_token):
                results[request.request_id] = slot.generated
                slot.request = None
