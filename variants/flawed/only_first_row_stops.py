"""The stop token is looked for in the first row alone.

Seen in bigscience-workshop/lm-evaluation-harness#124, where it also ended every other row.
"""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("finish/stop",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        for request, token in zip(running, tokens, strict=True):
            outputs[request.request_id].append(token)
        if tokens[0] == stop_token:
            running = running[1:]
        running = [request for request in running if len(outputs[request.request_id]) < request.max_tokens]
        running += islice(feed, num_slots - len(running))
    return outputs
