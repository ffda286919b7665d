"""A stop token in any row ends every request of the batch."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("finish/length",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    active = []
    while waiting or active:
        while waiting and len(active) < num_slots:
            active.append(waiting.popleft())
        tokens = model.next_tokens([[*one.prompt, *outputs[one.request_id]] for one in active])
        if len(tokens) != len(active):
            raise ValueError("one token a row, please")
        for one, token in zip(active, tokens):
            outputs[one.request_id].append(token)
        if stop_token in tokens:
            active = []
        active = [one for one in active if len(outputs[one.request_id]) < one.max_tokens]
    return outputs
