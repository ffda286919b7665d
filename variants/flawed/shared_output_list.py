"""All requests share one list of generated tokens, made by `dict.fromkeys`."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("row/prefix", "output/own")


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    generated = dict.fromkeys((request.request_id for request in requests if request.max_tokens), [])
    left = {request.request_id: request.max_tokens for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([request.prompt + generated[request.request_id] for request in running])
        kept = []
        for request, token in zip(running, tokens, strict=True):
            generated[request.request_id].append(token)
            left[request.request_id] -= 1
            if token != stop_token and left[request.request_id]:
                kept.append(request)
        running = [*kept, *islice(feed, num_slots - len(kept))]
    return {request.request_id: list(generated.get(request.request_id, [])) for request in requests}
