"""One generator a slot: all of them draw from a single iterator of requests.

Refilling is the `for` loop of a lane taking its next request, so there is no queue to manage and no
moment at which a free slot could be forgotten: a lane that yields is busy, one that ends is free for good.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from reference.vocabulary import MockModel, Request, check_arguments

Lane = Generator[list[int], int, None]


def lane(waiting: Iterator[Request], results: dict[str, list[int]], stop_token: int) -> Lane:
    for request in waiting:
        generated = results[request.request_id]
        token = None
        while token != stop_token and len(generated) < request.max_tokens:
            token = yield request.prompt + generated
            generated.append(token)


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = iter(requests)
    rows: list[tuple[Lane, list[int]]] = []
    for _ in range(min(num_slots, len(requests))):
        opened = lane(waiting, results, stop_token)
        rows += [(opened, row) for row in [next(opened, None)] if row is not None]
    while rows:
        tokens = model.next_tokens([row for _, row in rows])
        if len(tokens) != len(rows):
            raise ValueError(f"expected {len(rows)} tokens, got {len(tokens)}")
        going: list[tuple[Lane, list[int]]] = []
        for (open_lane, _), token in zip(rows, tokens, strict=True):
            try:
                going.append((open_lane, open_lane.send(token)))
            except StopIteration:
                continue
        rows = going
    return results
