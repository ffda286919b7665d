"""No slots at all: a list of what runs, which closes up after every call.

`num_slots` appears once, as the room that the survivors leave. Where nothing is tied to a place, a
slot is only a number to count up to.
"""

from __future__ import annotations

from itertools import islice

from reference.vocabulary import MockModel, Request, check_arguments


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = (request for request in requests if request.max_tokens > 0)
    running = list(islice(waiting, num_slots))
    while running:
        tokens = model.next_tokens([request.prompt + results[request.request_id] for request in running])
        survivors: list[Request] = []
        for request, token in zip(running, tokens, strict=True):
            generated = results[request.request_id]
            generated.append(token)
            if token != stop_token and len(generated) < request.max_tokens:
                survivors.append(request)
        survivors.extend(islice(waiting, num_slots - len(survivors)))
        running = survivors
    return results
