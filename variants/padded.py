"""A fixed shape: every call has `num_slots` rows, and an idle slot sends `[]`.

Compiled engines want one shape. An idle slot is known by its position, never by what its row or its
reply looks like, for a real prompt may be empty too.
"""

from __future__ import annotations

from collections import deque

from reference.vocabulary import MockModel, Request, check_arguments

DIALECT = {"batch": "padded"}


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    owners: list[Request | None] = [None] * num_slots
    while True:
        owners = [owner or (waiting.popleft() if waiting else None) for owner in owners]
        if not any(owners):
            return results
        rows = [[*owner.prompt, *results[owner.request_id]] if owner else [] for owner in owners]
        tokens = model.next_tokens(rows)
        if len(tokens) != num_slots:
            raise ValueError(f"{num_slots} rows were sent, and {len(tokens)} tokens came back")
        for slot, token in enumerate(tokens):
            if (owner := owners[slot]) is None:
                continue
            generated = results[owner.request_id]
            generated.append(token)
            if token == stop_token or len(generated) == owner.max_tokens:
                owners[slot] = None
