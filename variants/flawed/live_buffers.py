"""The model is handed the very lists in which the sequences are kept."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("row/private",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    buffers = {request.request_id: list(request.prompt) for request in requests}
    feed = ((request.request_id, request.max_tokens) for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([buffers[key] for key, _ in running])
        going = []
        for (key, left), token in zip(running, tokens, strict=True):
            buffers[key].append(token)
            if token != stop_token and left > 1:
                going.append((key, left - 1))
        running = going + list(islice(feed, num_slots - len(going)))
    return {request.request_id: buffers[request.request_id][len(request.prompt) :] for request in requests}
