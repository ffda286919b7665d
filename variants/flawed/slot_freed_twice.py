"""A stop token in the last allowed position frees the slot twice, and two newcomers are given the same one.

Seen in sgl-project/mini-sglang#111.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("admission/fifo",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    free = deque(range(min(num_slots, len(waiting))))
    slots = {}
    while True:
        while free and waiting:
            slots[free.popleft()] = waiting.popleft()
        if not slots:
            return outputs
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in slots.values()])
        for (slot, request), token in zip(list(slots.items()), tokens, strict=True):
            outputs[request.request_id].append(token)
            if token == stop_token:
                slots.pop(slot, None)
                free.append(slot)
            if len(outputs[request.request_id]) == request.max_tokens:
                slots.pop(slot, None)
                free.append(slot)
