"""Lines are emptied at a finish but not at a failure, so the next run starts on what this one left.

Seen in vllm-project/vllm#17738.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("cache/released", "cache/fresh")


def generate_cached(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    seats = {}
    while waiting or seats:
        for slot in range(num_slots):
            if slot not in seats and waiting:
                request = waiting.popleft()
                seats[slot] = (request, list(request.prompt))
        tokens = model.forward([(slot, new) for slot, (_, new) in seats.items()])
        for (slot, (request, _)), token in zip(list(seats.items()), tokens, strict=True):
            outputs[request.request_id].append(token)
            seats[slot] = (request, [token])
            if token == stop_token or len(outputs[request.request_id]) == request.max_tokens:
                del seats[slot]
                model.reset(slot)
    return outputs
