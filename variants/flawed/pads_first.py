"""Pad rows stand in front of the real ones, and the tokens are read from the front."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("pad/ignored", "row/reply")
DIALECT = {"batch": "padded"}


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        real = [[*request.prompt, *outputs[request.request_id]] for request in running]
        tokens = model.next_tokens([[] for _ in range(num_slots - len(real))] + real)
        if len(tokens) != num_slots:
            raise ValueError("one token a row, please")
        survivors = []
        for request, token in zip(running, tokens):
            outputs[request.request_id].append(token)
            if token != stop_token and len(outputs[request.request_id]) < request.max_tokens:
                survivors.append(request)
        running = survivors + list(islice(feed, num_slots - len(survivors)))
    return outputs
