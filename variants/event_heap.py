"""A clock and a heap of deadlines: nobody counts tokens.

A request admitted at call t is at its limit after call t + max_tokens, whatever happens to the others: a
running request is in every call. Its deadline is known in advance, and only a stop token comes as news.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import islice

from reference.vocabulary import MockModel, Request, check_arguments


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = ((ticket, request) for ticket, request in enumerate(requests) if request.max_tokens > 0)
    running: dict[int, Request] = {}
    deadlines: list[tuple[int, int]] = []
    clock = 0
    while True:
        for ticket, request in islice(waiting, num_slots - len(running)):
            running[ticket] = request
            heappush(deadlines, (clock + request.max_tokens, ticket))
        if not running:
            return results
        tokens = model.next_tokens([request.prompt + results[request.request_id] for request in running.values()])
        clock += 1
        leaving: list[int] = []
        for (ticket, request), token in zip(running.items(), tokens, strict=True):
            results[request.request_id].append(token)
            if token == stop_token:
                leaving.append(ticket)
        while deadlines and deadlines[0][0] == clock:
            leaving.append(heappop(deadlines)[1])
        for ticket in leaving:
            # A deadline of one that stopped early finds nobody.
            running.pop(ticket, None)
