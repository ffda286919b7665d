"""A flag refuses a second run during the first, and stays set when the model raises."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("run/independent",)

STATE = {"busy": False}


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    if STATE["busy"]:
        raise RuntimeError("a run is in progress")
    STATE["busy"] = True
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [None] * min(num_slots, len(waiting))
    while waiting or any(slots):
        slots = [held or (waiting.popleft() if waiting else None) for held in slots]
        busy = [index for index, held in enumerate(slots) if held]
        tokens = model.next_tokens([slots[i].prompt + outputs[slots[i].request_id] for i in busy])
        for index, token in zip(busy, tokens, strict=True):
            output = outputs[slots[index].request_id]
            output.append(token)
            if token == stop_token or len(output) == slots[index].max_tokens:
                slots[index] = None
    STATE["busy"] = False
    return outputs
