"""Only the limit ends a request; a stop token is a token like any other.

Seen in lvyufeng/PocketLLM#133.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("finish/stop",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque((request, request.max_tokens) for request in requests if request.max_tokens > 0)
    batch = []
    while waiting or batch:
        batch += [waiting.popleft() for _ in range(min(len(waiting), num_slots - len(batch)))]
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request, _ in batch])
        for (request, _), token in zip(batch, tokens, strict=True):
            outputs[request.request_id].append(token)
        batch = [(request, left - 1) for request, left in batch if left > 1]
    return outputs
