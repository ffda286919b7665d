"""When the model raises, what was generated so far is returned as the result."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("failure/surfaces",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [None] * min(num_slots, len(waiting))
    while True:
        slots = [held or (waiting.popleft() if waiting else None) for held in slots]
        busy = [index for index, held in enumerate(slots) if held]
        if not busy:
            break
        rows = [slots[i].prompt + outputs[slots[i].request_id] for i in busy]
        try:
            tokens = model.next_tokens(rows)
        except Exception:
            break
        for index, token in zip(busy, tokens, strict=True):
            output = outputs[slots[index].request_id]
            output.append(token)
            if token == stop_token or len(output) == slots[index].max_tokens:
                slots[index] = None
    return outputs
