"""Chunked prefill: a prompt is written two tokens a call, beside the others' decoding.

A long prompt then delays nobody: every call stays short. Only the reply to a prompt's last piece is a
token of the request; the replies to the others are guesses at what the prompt itself says next.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from reference.vocabulary import Request, check_arguments

PIECE = 2


class CachedModel(Protocol):
    def forward(self, batch: list[tuple[int, list[int]]]) -> list[int]: ...

    def reset(self, slot: int) -> None: ...


@dataclass
class Sequence:
    request: Request
    line: int
    written: int = 0
    generated: list[int] = field(default_factory=list)

    def piece(self) -> list[int]:
        """What goes into the line next."""
        prompt = self.request.prompt
        return self.generated[-1:] if self.generated else prompt[self.written : self.written + PIECE]

    def full(self, stop_token: int) -> bool:
        return self.generated[-1:] == [stop_token] or len(self.generated) == self.request.max_tokens


def generate_cached(
    model: CachedModel, requests: list[Request], num_slots: int, stop_token: int
) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    free = list(range(min(num_slots, len(waiting))))
    running: list[Sequence] = []
    try:
        while waiting or running:
            while waiting and free:
                running.append(Sequence(waiting.popleft(), free.pop()))
            pieces = [sequence.piece() for sequence in running]
            sizes = list(map(len, pieces))
            tokens = model.forward([(sequence.line, piece) for sequence, piece in zip(running, pieces, strict=True)])
            if len(tokens) != len(running):
                raise ValueError(f"expected {len(running)} tokens, got {len(tokens)}")
            for sequence, size, token in zip(running, sizes, tokens, strict=True):
                sequence.written += size
                if sequence.written >= len(sequence.request.prompt):
                    sequence.generated.append(token)
            for sequence in [s for s in running if s.full(stop_token)]:
                results[sequence.request.request_id] = sequence.generated
                running.remove(sequence)
                model.reset(sequence.line)
                free.append(sequence.line)
        return results
    finally:
        for sequence in running:
            model.reset(sequence.line)
