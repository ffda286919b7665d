"""One coroutine a request: it yields the prefix to send, is sent the token, and returns when it is full.

The life of a request reads from top to bottom, and the scheduler knows nothing of limits or stop
tokens. The model is called outside of the coroutines, so that its StopIteration stays its own.
"""

from __future__ import annotations

from collections.abc import Generator

from reference.vocabulary import MockModel, Request, check_arguments

Decoding = Generator[list[int], int, list[int]]


def decode(request: Request, stop_token: int) -> Decoding:
    generated: list[int] = []
    while len(generated) < request.max_tokens:
        token = yield [*request.prompt, *generated]
        generated.append(token)
        if token == stop_token:
            break
    return generated


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = ((request.request_id, decode(request, stop_token)) for request in requests)
    running: dict[str, Decoding] = {}
    batch: dict[str, list[int]] = {}
    while True:
        while len(running) < num_slots and (arrival := next(waiting, None)):
            request_id, decoding = arrival
            # One with nothing to generate returns before its first yield: it is never running.
            if (row := next(decoding, None)) is not None:
                running[request_id], batch[request_id] = decoding, row
        if not running:
            return results
        sent = list(batch)
        tokens = model.next_tokens(list(batch.values()))
        batch = {}
        for request_id, token in zip(sent, tokens, strict=True):
            try:
                batch[request_id] = running[request_id].send(token)
            except StopIteration as full:
                results[request_id] = full.value
                del running[request_id]
