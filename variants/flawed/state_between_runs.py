"""Finished outputs are remembered by prompt for the life of the module, and given again without asking the model."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("run/independent",)

FINISHED = {}


def key_of(request, stop_token):
    return (tuple(request.prompt), request.max_tokens, stop_token)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: list(FINISHED.get(key_of(request, stop_token), [])) for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0 and not outputs[request.request_id])
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(waiting.popleft())
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        survivors = []
        for request, token in zip(running, tokens, strict=True):
            output = outputs[request.request_id]
            output.append(token)
            if token != stop_token and len(output) < request.max_tokens:
                survivors.append(request)
        running = survivors
    FINISHED.update({key_of(request, stop_token): outputs[request.request_id] for request in requests})
    return {request_id: list(output) for request_id, output in outputs.items()}
