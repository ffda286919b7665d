"""The first token of a request is not compared with the stop token.

Seen in lvyufeng/PocketLLM#133, for the token that prefill yields.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("finish/stop",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [None] * min(num_slots, len(waiting))
    while True:
        for index in range(len(slots)):
            if slots[index] is None and waiting:
                slots[index] = waiting.popleft()
        busy = [index for index in range(len(slots)) if slots[index] is not None]
        if not busy:
            break
        tokens = model.next_tokens([slots[i].prompt + outputs[slots[i].request_id] for i in busy])
        for index, token in zip(busy, tokens, strict=True):
            request = slots[index]
            output = outputs[request.request_id]
            if output:
                output.append(token)
                full = token == stop_token or len(output) == request.max_tokens
            else:
                output.append(token)
                full = request.max_tokens == 1
            if full:
                slots[index] = None
    return outputs
