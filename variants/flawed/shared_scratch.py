"""The running requests are in a list of the module, cleared at the start: two interleaved runs share it."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("run/independent",)

RUNNING = []


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    RUNNING.clear()
    while waiting or RUNNING:
        while waiting and len(RUNNING) < num_slots:
            RUNNING.append(waiting.popleft())
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in RUNNING])
        if len(tokens) != len(RUNNING):
            raise ValueError("one token a row, please")
        for index in range(len(tokens) - 1, -1, -1):
            request = RUNNING[index]
            outputs[request.request_id].append(tokens[index])
            if tokens[index] == stop_token or len(outputs[request.request_id]) == request.max_tokens:
                RUNNING[index] = RUNNING[-1]
                RUNNING.pop()
    return outputs
