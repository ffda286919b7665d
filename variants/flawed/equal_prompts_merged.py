"""Requests with equal rows share one row of the call, and its reply."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("refill/immediate",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        groups = {}
        for request in running:
            groups.setdefault((*request.prompt, *outputs[request.request_id]), []).append(request)
        tokens = model.next_tokens([list(row) for row in groups])
        running = []
        for members, token in zip(groups.values(), tokens, strict=True):
            for request in members:
                outputs[request.request_id].append(token)
                if token != stop_token and len(outputs[request.request_id]) < request.max_tokens:
                    running.append(request)
        running += islice(feed, num_slots - len(running))
    return outputs
