"""One limit, the smallest of the batch, is applied to every row.

Seen in tenstorrent/tt-xla#4190, as one minimum where each row needed its own.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("finish/length",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [None] * min(num_slots, len(waiting))
    while True:
        slots = [held if held else (waiting.popleft() if waiting else None) for held in slots]
        busy = [index for index, held in enumerate(slots) if held]
        if not busy:
            return outputs
        limit = min(slots[index].max_tokens for index in busy)
        tokens = model.next_tokens([slots[i].prompt + outputs[slots[i].request_id] for i in busy])
        for index, token in zip(busy, tokens, strict=True):
            output = outputs[slots[index].request_id]
            output.append(token)
            if token == stop_token or len(output) >= limit:
                slots[index] = None
