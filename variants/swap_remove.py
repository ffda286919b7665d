"""Swap-with-last removal: a freed place is filled from the end, so that nothing shifts.

Removal costs one move where each row has an expensive cache. It is safe here because the walk goes
backwards: whatever moves into a place has had its token already.
"""

from __future__ import annotations

from dataclasses import dataclass

from reference.vocabulary import MockModel, Request, check_arguments


@dataclass(slots=True)
class Running:
    prefix: list[int]
    left: int
    generated: list[int]


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    # A stack with the first request on top.
    waiting = [request for request in reversed(requests) if request.max_tokens > 0]
    batch: list[Running] = []
    while batch or waiting:
        while waiting and len(batch) < num_slots:
            request = waiting.pop()
            batch.append(Running(list(request.prompt), request.max_tokens, results[request.request_id]))
        tokens = model.next_tokens([one.prefix.copy() for one in batch])
        if len(tokens) != len(batch):
            raise ValueError(f"expected {len(batch)} tokens, got {len(tokens)}")
        for place in reversed(range(len(batch))):
            one, token = batch[place], tokens[place]
            one.prefix.append(token)
            one.generated.append(token)
            one.left -= 1
            if token == stop_token or one.left == 0:
                batch[place] = batch[-1]
                batch.pop()
    return results
