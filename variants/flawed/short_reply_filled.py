"""Tokens that are missing from a reply are filled up with stop tokens."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("reply/checked",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(waiting.popleft())
        tokens = list(model.next_tokens([request.prompt + outputs[request.request_id] for request in running]))
        tokens += [stop_token] * (len(running) - len(tokens))
        for request, token in zip(running, tokens, strict=True):
            outputs[request.request_id].append(token)
        running = [
            request
            for request in running
            if outputs[request.request_id][-1] != stop_token and len(outputs[request.request_id]) < request.max_tokens
        ]
    return outputs
