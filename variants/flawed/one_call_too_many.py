"""The end is noticed one step late, and a call of pad rows alone is made."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("call/needed",)
DIALECT = {"batch": "padded"}


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [None] * num_slots
    more = bool(waiting)
    while more:
        for index in range(num_slots):
            if slots[index] is None and waiting:
                slots[index] = waiting.popleft()
        more = any(slots)
        rows = [[*held.prompt, *results[held.request_id]] if held else [] for held in slots]
        tokens = model.next_tokens(rows)
        if len(tokens) != num_slots:
            raise ValueError("wrong number of tokens")
        for index, held in enumerate(slots):
            if held:
                results[held.request_id].append(tokens[index])
                if tokens[index] == stop_token or len(results[held.request_id]) == held.max_tokens:
                    slots[index] = None
    return results
