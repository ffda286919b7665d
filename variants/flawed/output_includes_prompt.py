"""The whole sequence is returned, prompt included.

Seen in sgl-project/sglang#17240.
"""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("output/own",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    sequences = {request.request_id: list(request.prompt) if request.max_tokens else [] for request in requests}
    left = {request.request_id: request.max_tokens for request in requests}
    feed = (key for key, limit in left.items() if limit > 0)
    keys = list(islice(feed, num_slots))
    while keys:
        tokens = model.next_tokens([[*sequences[key]] for key in keys])
        for key, token in zip(keys, tokens, strict=True):
            sequences[key].append(token)
            left[key] = 0 if token == stop_token else left[key] - 1
        keys = [key for key in keys if left[key]]
        keys += islice(feed, num_slots - len(keys))
    return sequences
