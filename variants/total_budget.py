"""`max_tokens` limits the whole sequence: a row is its own counter.

With the prompt counted, the length of the prefix is all that there is to know, and a prompt at its limit
is finished before it begins. What was generated is cut out of the prefix at the end.
"""

from __future__ import annotations

from itertools import islice

from reference.vocabulary import MockModel, Request, check_arguments

DIALECT = {"max_tokens": "total"}


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    prefixes = {request.request_id: list(request.prompt) for request in requests}
    waiting = (
        (prefixes[request.request_id], request.max_tokens)
        for request in requests
        if len(request.prompt) < request.max_tokens
    )
    running: list[tuple[list[int], int]] = []
    while True:
        running.extend(islice(waiting, num_slots - len(running)))
        if not running:
            break
        tokens = model.next_tokens([list(prefix) for prefix, _ in running])
        for (prefix, _), token in zip(running, tokens, strict=True):
            prefix.append(token)
        running = [(prefix, most) for prefix, most in running if prefix[-1] != stop_token and len(prefix) < most]
    return {request.request_id: prefixes[request.request_id][len(request.prompt) :] for request in requests}
