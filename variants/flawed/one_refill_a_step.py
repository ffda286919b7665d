"""At most one request is admitted before each call, however many slots are free.

Seen in inferencerlabs/inferencer-feedback#80.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("refill/immediate",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [None] * num_slots if len(waiting) > num_slots else [None] * len(waiting)
    while True:
        if waiting and None in slots:
            slots[slots.index(None)] = waiting.popleft()
        occupied = [index for index, request in enumerate(slots) if request is not None]
        if not occupied:
            return outputs
        tokens = model.next_tokens([slots[i].prompt + outputs[slots[i].request_id] for i in occupied])
        for index, token in zip(occupied, tokens, strict=True):
            output = outputs[slots[index].request_id]
            output.append(token)
            if token == stop_token or len(output) >= slots[index].max_tokens:
                slots[index] = None
