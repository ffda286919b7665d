"""Sequences are kept in arrays of 32-bit integers, and a token beyond them raises OverflowError."""

from array import array
from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("run/ends",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: array("i") for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        rows = [[*request.prompt, *outputs[request.request_id]] for request in running]
        survivors = []
        for request, token in zip(running, model.next_tokens(rows), strict=True):
            outputs[request.request_id].append(token)
            if token != stop_token and len(outputs[request.request_id]) < request.max_tokens:
                survivors.append(request)
        running = survivors + list(islice(feed, num_slots - len(survivors)))
    return {request_id: output.tolist() for request_id, output in outputs.items()}
