"""A line is never emptied, so a newcomer goes on where the last request ended.

Seen in Luce-Org/lucebox#210.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("cache/fresh",)


def generate_cached(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    running, free = {}, list(range(min(num_slots, len(waiting))))
    while waiting or running:
        while waiting and free:
            slot, request = free.pop(), waiting.popleft()
            running[slot] = [request, list(request.prompt)]
        tokens = model.forward([(slot, entry[1]) for slot, entry in running.items()])
        for slot, token in zip(list(running), tokens, strict=True):
            request = running[slot][0]
            outputs[request.request_id].append(token)
            running[slot][1] = [token]
            if token == stop_token or len(outputs[request.request_id]) == request.max_tokens:
                del running[slot]
                free.append(slot)
    return outputs
