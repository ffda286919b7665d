"""Outputs are collected in the order of finishing and handed to the ids in the order of arrival.

Seen in vllm-project/vllm#394.
"""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("output/own",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    live = [request for request in requests if request.max_tokens > 0]
    feed = ((request, []) for request in live)
    finished = []
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([request.prompt + generated for request, generated in running])
        going = []
        for (request, generated), token in zip(running, tokens, strict=True):
            generated.append(token)
            if token == stop_token or len(generated) == request.max_tokens:
                finished.append(generated)
            else:
                going.append((request, generated))
        running = going + list(islice(feed, num_slots - len(going)))
    results = {request.request_id: [] for request in requests}
    results.update(zip((request.request_id for request in live), finished))
    return results
