"""A request ends one token before its limit, because the count starts at one.

Seen in vllm-project/vllm#28172, as a count that is one short.
"""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("finish/length",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = ((request, iter(range(1, request.max_tokens))) for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request, _ in running])
        following = []
        for (request, count), token in zip(running, tokens, strict=True):
            outputs[request.request_id].append(token)
            position = next(count, None)
            if token != stop_token and position is not None and position + 1 < request.max_tokens:
                following.append((request, count))
        running = following + list(islice(feed, num_slots - len(following)))
    return outputs
