"""Callbacks: what is to be sent next, and what to do with the token.

There is no batch object and no queue of slots. A full request calls `admit` in its own place, so a slot is
a chain of continuations that never breaks while somebody waits.
"""

from __future__ import annotations

from collections.abc import Callable

from reference.vocabulary import MockModel, Request, check_arguments

Resume = Callable[[int], None]


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    arrivals = [request for request in requests if request.max_tokens > 0]
    waiting = iter(arrivals)
    agenda: list[tuple[list[int], Resume]] = []

    def admit() -> None:
        for request in waiting:
            ask(request)
            return

    def ask(request: Request) -> None:
        generated = results[request.request_id]

        def resume(token: int) -> None:
            generated.append(token)
            if token == stop_token or len(generated) == request.max_tokens:
                admit()
            else:
                ask(request)

        agenda.append(([*request.prompt, *generated], resume))

    for _ in range(min(num_slots, len(arrivals))):
        admit()
    while agenda:
        step = agenda.copy()
        agenda.clear()
        tokens = model.next_tokens([row for row, _ in step])
        if len(tokens) != len(step):
            raise ValueError(f"expected {len(step)} tokens, got {len(tokens)}")
        for (_, resume), token in zip(step, tokens, strict=True):
            resume(token)
    return results
