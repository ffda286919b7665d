"""The stop token is cut off with `output[:-1] or output`, which keeps one that came first."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("output/own",)
DIALECT = {"stop_token": "excluded"}


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    feed = ((request, []) for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([[*request.prompt, *output] for request, output in running])
        going = []
        for (request, output), token in zip(running, tokens, strict=True):
            output.append(token)
            if token == stop_token:
                results[request.request_id] = output[:-1] or output
            elif len(output) == request.max_tokens:
                results[request.request_id] = output
            else:
                going.append((request, output))
        running = [*going, *islice(feed, num_slots - len(going))]
    return results
