"""No more than sixteen slots are used, whatever `num_slots` says."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("refill/immediate",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    width = min(num_slots, 16)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, width))
    while running:
        tokens = model.next_tokens([[*request.prompt, *outputs[request.request_id]] for request in running])
        for request, token in zip(running, tokens, strict=True):
            outputs[request.request_id].append(token)
        running = [
            request
            for request in running
            if stop_token not in outputs[request.request_id][-1:]
            and len(outputs[request.request_id]) < request.max_tokens
        ]
        running += islice(feed, width - len(running))
    return outputs
