"""After the first call of a request, only its newest token is sent, as if the model kept a cache."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("row/prefix",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        batch = [outputs[request.request_id][-1:] or list(request.prompt) for request in running]
        tokens = model.next_tokens(batch)
        survivors = []
        for request, token in zip(running, tokens, strict=True):
            output = outputs[request.request_id]
            output.append(token)
            if token != stop_token and len(output) < request.max_tokens:
                survivors.append(request)
        running = survivors + list(islice(feed, num_slots - len(survivors)))
    return outputs
