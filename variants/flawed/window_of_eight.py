"""A row is cut to its last eight tokens."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("row/prefix",)

CONTEXT = 8


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {}
    waiting = deque()
    for request in requests:
        results[request.request_id] = []
        if request.max_tokens:
            waiting.append(request)
    free = list(range(min(num_slots, len(waiting))))
    occupied = {}
    while occupied or waiting:
        while free and waiting:
            occupied[free.pop()] = waiting.popleft()
        batch = [(request.prompt + results[request.request_id])[-CONTEXT:] for request in occupied.values()]
        tokens = model.next_tokens(batch)
        for (slot, request), token in zip(list(occupied.items()), tokens, strict=True):
            results[request.request_id].append(token)
            if token == stop_token or len(results[request.request_id]) == request.max_tokens:
                del occupied[slot]
                free.append(slot)
    return results
