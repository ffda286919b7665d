"""The shape is that of the first batch, which is smaller than `num_slots` when there are few requests.

Seen in quic/efficient-transformers#130.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("pad/shape",)
DIALECT = {"batch": "padded"}


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [waiting.popleft() for _ in range(min(num_slots, len(waiting)))]
    while any(slots):
        tokens = model.next_tokens([held.prompt + outputs[held.request_id] if held else [] for held in slots])
        if len(tokens) != len(slots):
            raise ValueError("one token a row, please")
        for index, held in enumerate(slots):
            if held:
                outputs[held.request_id].append(tokens[index])
                if tokens[index] == stop_token or len(outputs[held.request_id]) == held.max_tokens:
                    slots[index] = waiting.popleft() if waiting else None
    return outputs
