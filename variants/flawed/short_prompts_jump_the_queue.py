"""A long prompt at the head is passed over by an empty or one-token prompt behind it."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("admission/fifo",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    live = [request for request in requests if request.max_tokens > 0]
    light = deque(request for request in live if len(request.prompt) <= 1)
    heavy = deque(request for request in live if len(request.prompt) > 1)
    running = {}
    while light or heavy or running:
        while (light or heavy) and len(running) < num_slots:
            request = (light or heavy).popleft()
            running[request.request_id] = request
        tokens = model.next_tokens([request.prompt + outputs[key] for key, request in running.items()])
        for key, token in zip(list(running), tokens, strict=True):
            outputs[key].append(token)
            if token == stop_token or len(outputs[key]) == running[key].max_tokens:
                del running[key]
    return outputs
