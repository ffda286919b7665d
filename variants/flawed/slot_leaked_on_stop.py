"""Only a request that reaches its limit gives its slot back; a stop token leaks the slot."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("refill/immediate", "run/ends")


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    free = deque(range(min(num_slots, len(waiting))))
    held = {}
    while True:
        while free and waiting:
            held[free.popleft()] = waiting.popleft()
        if not held:
            return results
        tokens = model.next_tokens([request.prompt + results[request.request_id] for request in held.values()])
        for (slot, request), token in zip(list(held.items()), tokens, strict=True):
            output = results[request.request_id]
            output.append(token)
            if token == stop_token:
                del held[slot]
            elif len(output) == request.max_tokens:
                del held[slot]
                free.append(slot)
