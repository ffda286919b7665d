"""A request whose id is the empty string is taken for an empty slot when the results are written."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("output/complete",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [None] * min(num_slots, len(waiting))
    while True:
        for index, held in enumerate(slots):
            if held is None and waiting:
                slots[index] = waiting.popleft()
        busy = [index for index, held in enumerate(slots) if held is not None]
        if not busy:
            return {request_id: output for request_id, output in outputs.items() if request_id}
        tokens = model.next_tokens([slots[i].prompt + outputs[slots[i].request_id] for i in busy])
        for index, token in zip(busy, tokens, strict=True):
            output = outputs[slots[index].request_id]
            output.append(token)
            if token == stop_token or len(output) == slots[index].max_tokens:
                slots[index] = None
