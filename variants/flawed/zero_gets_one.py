"""A request with `max_tokens` 0 is admitted like any other, and gets one token before the limit is tested.

Seen in huggingface/transformers#28579.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("zero/untouched",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(requests)
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(waiting.popleft())
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        survivors = []
        for request, token in zip(running, tokens, strict=True):
            outputs[request.request_id].append(token)
            if token != stop_token and len(outputs[request.request_id]) < request.max_tokens:
                survivors.append(request)
        running = survivors
    return outputs
