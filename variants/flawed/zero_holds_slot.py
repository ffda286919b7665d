"""A request with `max_tokens` 0 takes a slot for one call, though it is not sent."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("zero/untouched",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(requests)
    slots = []
    while waiting or slots:
        while waiting and len(slots) < num_slots:
            slots.append(waiting.popleft())
        sent = [request for request in slots if request.max_tokens > 0]
        if sent:
            tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in sent])
            for request, token in zip(sent, tokens, strict=True):
                outputs[request.request_id].append(token)
        slots = [
            request
            for request in sent
            if outputs[request.request_id][-1] != stop_token and len(outputs[request.request_id]) < request.max_tokens
        ]
    return outputs
