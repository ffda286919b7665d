"""A request yields its slot after eight tokens whenever another waits."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("slot/held",)

QUANTUM = 8


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append((waiting.popleft(), QUANTUM))
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request, _ in running])
        following = []
        for (request, turns), token in zip(running, tokens, strict=True):
            outputs[request.request_id].append(token)
            if token == stop_token or len(outputs[request.request_id]) == request.max_tokens:
                continue
            if turns <= 1 and waiting:
                waiting.append(request)
            else:
                following.append((request, turns - 1))
        running = following
    return outputs
