"""The stop token is a signal, not text: it ends a request and is not returned.

A request that stops at once returns `[]`, the same value as one that was never sent, and so "has it an
output?" cannot be the test for "has it finished?". Here finishing is a method that answers, apart from the text.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from reference.vocabulary import MockModel, Request, check_arguments

DIALECT = {"stop_token": "excluded"}


@dataclass
class Decoding:
    request: Request
    text: list[int] = field(default_factory=list)

    def take(self, token: int, stop_token: int) -> bool:
        """Keep `token`, unless it is the stop token; tell whether that finishes the request."""
        if token == stop_token:
            return True
        self.text.append(token)
        return len(self.text) == self.request.max_tokens


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    decodings = {request.request_id: Decoding(request) for request in requests}
    waiting = deque(one for one in decodings.values() if one.request.max_tokens > 0)
    ring: deque[Decoding] = deque()
    while waiting or ring:
        while waiting and len(ring) < num_slots:
            ring.append(waiting.popleft())
        tokens = model.next_tokens([one.request.prompt + one.text for one in ring])
        if len(tokens) != len(ring):
            raise ValueError(f"expected {len(ring)} tokens, got {len(tokens)}")
        for token in tokens:
            one = ring.popleft()
            if not one.take(token, stop_token):
                ring.append(one)
    return {request_id: one.text for request_id, one in decodings.items()}
