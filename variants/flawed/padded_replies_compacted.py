"""The reply has a token for every slot, and is read as if it had one for every busy slot.

Seen in torch-spyre/sendnn-inference#33.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("pad/ignored", "row/reply")
DIALECT = {"batch": "padded"}


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [None] * num_slots
    while True:
        slots = [held or (waiting.popleft() if waiting else None) for held in slots]
        busy = [index for index, held in enumerate(slots) if held]
        if not busy:
            return outputs
        tokens = model.next_tokens([held.prompt + outputs[held.request_id] if held else [] for held in slots])
        if len(tokens) != num_slots:
            raise ValueError("one token a row, please")
        for index, token in zip(busy, tokens):
            output = outputs[slots[index].request_id]
            output.append(token)
            if token == stop_token or len(output) == slots[index].max_tokens:
                slots[index] = None
