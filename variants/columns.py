"""Columns instead of objects: one list a field, and a mask that compresses all of them at once.

This is the layout of tensor code. The danger of it is a column that is not compressed with the others;
here the columns are named together in one tuple, so that none can be left out.
"""

from __future__ import annotations

from itertools import compress, islice

from reference.vocabulary import MockModel, Request, check_arguments


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = (request for request in requests if request.max_tokens > 0)
    outputs: list[list[int]] = []
    prefixes: list[list[int]] = []
    left: list[int] = []
    while True:
        for request in islice(waiting, num_slots - len(left)):
            outputs.append(results[request.request_id])
            prefixes.append(request.prompt.copy())
            left.append(request.max_tokens)
        if not left:
            return results
        tokens = model.next_tokens([prefix.copy() for prefix in prefixes])
        for output, prefix, token in zip(outputs, prefixes, tokens, strict=True):
            output.append(token)
            prefix.append(token)
        left = [count - 1 for count in left]
        mask = [token != stop_token and count > 0 for token, count in zip(tokens, left, strict=True)]
        outputs, prefixes, left = (
            list(compress(outputs, mask)),
            list(compress(prefixes, mask)),
            list(compress(left, mask)),
        )
