"""A negative `max_tokens` is treated as 0 instead of an error."""

from collections import deque

BREAKS = ("arguments/rejected",)


def generate(model, requests, num_slots, stop_token):
    outputs = {request.request_id: [] for request in requests}
    if num_slots < 1:
        raise ValueError("num_slots should be at least 1")
    if len(outputs) < len(requests):
        raise ValueError("two requests have one id")
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [None] * min(num_slots, len(waiting))
    while True:
        for index, held in enumerate(slots):
            if held is None and waiting:
                slots[index] = waiting.popleft()
        busy = [index for index, held in enumerate(slots) if held is not None]
        if not busy:
            return outputs
        tokens = model.next_tokens([slots[i].prompt + outputs[slots[i].request_id] for i in busy])
        for index, token in zip(busy, tokens, strict=True):
            output = outputs[slots[index].request_id]
            output.append(token)
            if token == stop_token or len(output) == slots[index].max_tokens:
                slots[index] = None
