"""Rows and tokens are zipped to the shorter of the two, and a request without a token is lost."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("reply/checked",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        survivors = []
        for request, token in zip(running, tokens):
            outputs[request.request_id].append(token)
            if token != stop_token and len(outputs[request.request_id]) < request.max_tokens:
                survivors.append(request)
        survivors.extend(islice(feed, num_slots - len(survivors)))
        running = survivors
    return outputs
