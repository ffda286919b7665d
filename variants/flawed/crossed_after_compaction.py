"""Finished rows are taken out of the list, and the tokens, still one a row, are then read by the new places.

Seen in torch-spyre/sendnn-inference#33.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("row/reply",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(waiting.popleft())
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        if len(tokens) != len(running):
            raise ValueError("one token a row, please")
        alive = []
        for request, token in zip(running, tokens):
            last = len(outputs[request.request_id]) + 1 == request.max_tokens
            if token == stop_token or last:
                outputs[request.request_id].append(token)
            else:
                alive.append(request)
        running = []
        for request, token in zip(alive, tokens):
            outputs[request.request_id].append(token)
            if token != stop_token:
                running.append(request)
    return outputs
