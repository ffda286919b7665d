"""The prompt counts towards `max_tokens`, although nothing says so."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("prompt/inert",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    prefixes = {request.request_id: list(request.prompt) for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([prefixes[request.request_id].copy() for request in running])
        survivors = []
        for request, token in zip(running, tokens, strict=True):
            prefix = prefixes[request.request_id]
            prefix.append(token)
            if token != stop_token and len(prefix) < request.max_tokens:
                survivors.append(request)
        survivors.extend(islice(feed, num_slots - len(survivors)))
        running = survivors
    return {request.request_id: prefixes[request.request_id][len(request.prompt) :] for request in requests}
