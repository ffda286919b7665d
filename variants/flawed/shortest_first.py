"""The waiting requests are ordered by `max_tokens`, shortest first."""

from heapq import heapify, heappop

from reference.vocabulary import check_arguments

BREAKS = ("admission/fifo",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = [(r.max_tokens, arrival, r) for arrival, r in enumerate(requests) if r.max_tokens > 0]
    heapify(waiting)
    active = []
    while waiting or active:
        while waiting and len(active) < num_slots:
            active.append(heappop(waiting)[2])
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in active])
        survivors = []
        for request, token in zip(active, tokens, strict=True):
            outputs[request.request_id].append(token)
            if token != stop_token and len(outputs[request.request_id]) < request.max_tokens:
                survivors.append(request)
        active = survivors
    return outputs
