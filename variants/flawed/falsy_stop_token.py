"""A stop token of 0 is falsy, and is taken for "no stop token"."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("finish/stop",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = []
    while running := running + list(islice(feed, num_slots - len(running))):
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        survivors = []
        for request, token in zip(running, tokens, strict=True):
            outputs[request.request_id].append(token)
            stopped = stop_token and token == stop_token
            if not stopped and len(outputs[request.request_id]) < request.max_tokens:
                survivors.append(request)
        running = survivors
    return outputs
