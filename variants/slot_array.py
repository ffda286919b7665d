"""Permanent slots: the array never changes, and requests pass through it.

This is how servers with one cache line a slot are built. Because a slot outlives its request, what a
newcomer must find clean is written in one place, `seat`.
"""

from __future__ import annotations

from collections import deque

from reference.vocabulary import MockModel, Request, check_arguments


class Slot:
    def __init__(self) -> None:
        self.request: Request | None = None
        self.generated: list[int] = []

    def seat(self, request: Request) -> None:
        self.request, self.generated = request, []


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens)
    slots = [Slot() for _ in range(min(num_slots, len(waiting)))]
    free = slots[::-1]
    while True:
        while free and waiting:
            free.pop().seat(waiting.popleft())
        busy = [(slot, slot.request) for slot in slots if slot.request is not None]
        if not busy:
            return results
        tokens = model.next_tokens([[*request.prompt, *slot.generated] for slot, request in busy])
        if len(tokens) != len(busy):
            raise ValueError(f"{len(busy)} rows were sent, and {len(tokens)} tokens came back")
        for (slot, request), token in zip(busy, tokens, strict=True):
            slot.generated.append(token)
            if token == stop_token or len(slot.generated) == request.max_tokens:
                results[request.request_id] = slot.generated
                slot.request = None
                free.append(slot)
