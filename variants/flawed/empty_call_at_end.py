"""The loop looks for work only after the call, so the last call is empty."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("call/needed",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [None] * min(num_slots, len(waiting))
    while True:
        for index, occupant in enumerate(slots):
            if occupant is None and waiting:
                slots[index] = waiting.popleft()
        busy = [index for index, occupant in enumerate(slots) if occupant is not None]
        tokens = model.next_tokens([slots[index].prompt + outputs[slots[index].request_id] for index in busy])
        if not busy:
            return outputs
        for index, token in zip(busy, tokens, strict=True):
            output = outputs[slots[index].request_id]
            output.append(token)
            if token == stop_token or len(output) == slots[index].max_tokens:
                slots[index] = None
