"""A fixed shape with the real rows in front: the rest of the batch repeats one constant row.

Only the front of a reply is read, so no slot needs a mark that says whether it is idle.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, repeat

from reference.vocabulary import MockModel, Request, check_arguments

DIALECT = {"batch": "padded"}

PAD = (0,)


def fixed_shape(real: Iterator[list[int]], num_rows: int) -> list[list[int]]:
    return list(islice(chain(real, map(list, repeat(PAD))), num_rows))


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = iter([(request, results[request.request_id]) for request in requests if request.max_tokens > 0])
    front: list[tuple[Request, list[int]]] = []
    while front := [*front, *islice(waiting, num_slots - len(front))]:
        tokens = model.next_tokens(fixed_shape((request.prompt + done for request, done in front), num_slots))
        if len(tokens) != num_slots:
            raise ValueError(f"{num_slots} rows were sent, and {len(tokens)} tokens came back")
        for (_, done), token in zip(front, tokens, strict=False):
            done.append(token)
        front = [
            (request, done) for request, done in front if done[-1] != stop_token and len(done) < request.max_tokens
        ]
    return results
