"""A budget of new tokens a call: decoding first, one token each, and prompts share what is left.

This is how large engines schedule prefill. Every sequence gets at least one token into each call, so that
nobody's turn is skipped; how a prompt is cut depends on who else is there. Here the stop token is not
returned, and the limit counts the prompt.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from reference.vocabulary import Request, check_arguments

DIALECT = {"stop_token": "excluded", "max_tokens": "total"}
BUDGET = 6


class CachedModel(Protocol):
    def forward(self, batch: list[tuple[int, list[int]]]) -> list[int]: ...

    def reset(self, slot: int) -> None: ...


class Sequence:
    """`todo` is what the line lacks; a reply counts if nothing is lacking after the call."""

    def __init__(self, request: Request) -> None:
        self.request_id, self.todo = request.request_id, list(request.prompt)
        self.left = request.max_tokens - len(request.prompt)
        self.output: list[int] = []

    def take(self, token: int, stop_token: int) -> bool:
        """Take a reply that counts; tell whether it was the last one."""
        self.left -= 1
        self.todo.append(token)
        if token == stop_token:
            return True
        self.output.append(token)
        return not self.left


def portions(sequences: list[Sequence]) -> list[int]:
    """Share the budget: one token each, then as much as there is, first come first served."""
    spare = max(0, BUDGET - len(sequences))
    sizes = []
    for sequence in sequences:
        extra = min(spare, max(0, len(sequence.todo) - 1))
        spare -= extra
        sizes.append(min(len(sequence.todo), 1 + extra))
    return sizes


def generate_cached(
    model: CachedModel, requests: list[Request], num_slots: int, stop_token: int
) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = deque(map(Sequence, (r for r in requests if r.max_tokens > len(r.prompt))))
    seats: dict[int, Sequence] = {}
    try:
        while waiting or seats:
            for slot in range(num_slots - 1, -1, -1) if waiting else ():
                if slot not in seats and waiting:
                    seats[slot] = waiting.popleft()
            sizes = portions(list(seats.values()))
            batch = [(slot, seats[slot].todo[:size]) for slot, size in zip(seats, sizes, strict=True)]
            tokens = model.forward(batch)
            if len(tokens) != len(sizes):
                raise ValueError(f"{len(tokens)} tokens for {len(sizes)} rows")
            for (slot, sequence), size, token in zip(list(seats.items()), sizes, tokens, strict=True):
                del sequence.todo[:size]
                if not sequence.todo and sequence.take(token, stop_token):
                    results[sequence.request_id] = sequence.output
                    model.reset(slot)
                    del seats[slot]
        return results
    finally:
        for slot in seats:
            model.reset(slot)
