"""The stop token is looked for in the whole sequence, so one in the prompt ends the request."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("prompt/inert",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    sequences = {request.request_id: list(request.prompt) for request in requests}
    feed = (
        (sequences[request.request_id], len(request.prompt) + request.max_tokens)
        for request in requests
        if request.max_tokens > 0
    )
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([sequence[:] for sequence, _ in running])
        for (sequence, _), token in zip(running, tokens, strict=True):
            sequence.append(token)
        running = [(s, end) for s, end in running if stop_token not in s and len(s) < end]
        running += islice(feed, num_slots - len(running))
    return {request.request_id: sequences[request.request_id][len(request.prompt) :] for request in requests}
