"""A helper gathers the results in a default argument, which keeps those of earlier runs.

Seen in unslothai/unsloth-zoo#99, as an accumulator that is not reset.
"""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("run/independent",)


def decode(model, requests, num_slots, stop_token, results={}):
    results.update({request.request_id: [] for request in requests})
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([request.prompt + results[request.request_id] for request in running])
        survivors = []
        for request, token in zip(running, tokens, strict=True):
            results[request.request_id].append(token)
            if token != stop_token and len(results[request.request_id]) < request.max_tokens:
                survivors.append(request)
        running = survivors + list(islice(feed, num_slots - len(survivors)))
    return dict(results)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    return decode(model, requests, num_slots, stop_token)
