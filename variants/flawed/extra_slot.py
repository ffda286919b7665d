"""The test for room is `<=` instead of `<`, so one request too many runs."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("call/size",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    queue = deque(request for request in requests if request.max_tokens > 0)
    active = []
    while queue or active:
        while queue and len(active) <= num_slots:
            active.append(queue.popleft())
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in active])
        if len(tokens) != len(active):
            raise ValueError("one token a row is needed")
        for request, token in zip(active, tokens):
            outputs[request.request_id].append(token)
        active = [
            request
            for request in active
            if outputs[request.request_id][-1] != stop_token and len(outputs[request.request_id]) < request.max_tokens
        ]
    return outputs
