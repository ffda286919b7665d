"""Only the first sixteen requests are served; the others return nothing."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("refill/immediate",)

QUEUE_SIZE = 16


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque([request for request in requests if request.max_tokens > 0][:QUEUE_SIZE])
    slots = [None] * min(num_slots, QUEUE_SIZE)
    while True:
        slots = [held or (waiting.popleft() if waiting else None) for held in slots]
        busy = [index for index, held in enumerate(slots) if held]
        if not busy:
            return outputs
        tokens = model.next_tokens([slots[i].prompt + outputs[slots[i].request_id] for i in busy])
        for index, token in zip(busy, tokens, strict=True):
            output = outputs[slots[index].request_id]
            output.append(token)
            if token == stop_token or len(output) == slots[index].max_tokens:
                slots[index] = None
