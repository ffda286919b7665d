"""The loop lasts while something runs, and requests still waiting when it empties are lost."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("run/ends",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    running = [waiting.popleft() for _ in range(min(num_slots, len(waiting)))]
    while running:
        while waiting and len(running) < num_slots:
            running.append(waiting.popleft())
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        for request, token in zip(running, tokens, strict=True):
            outputs[request.request_id].append(token)
        running = [
            request
            for request in running
            if outputs[request.request_id][-1] != stop_token and len(outputs[request.request_id]) < request.max_tokens
        ]
    return outputs
