"""An id that any earlier run has used is refused as a duplicate.

Seen in sgl-project/sglang#24070, as an id that stays "in use".
"""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("run/independent",)

KNOWN = set()


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    for request in requests:
        if request.request_id in KNOWN:
            raise ValueError(f"the id {request.request_id!r} is in use")
    KNOWN.update(request.request_id for request in requests)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        for request, token in zip(running, tokens, strict=True):
            outputs[request.request_id].append(token)
        running = [
            request
            for request in running
            if outputs[request.request_id][-1] != stop_token and len(outputs[request.request_id]) < request.max_tokens
        ]
        running += islice(feed, num_slots - len(running))
    return outputs
