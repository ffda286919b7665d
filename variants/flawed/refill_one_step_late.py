"""The room for newcomers is measured before the replies are read, so a freed slot idles for one call."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("refill/immediate",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        room = num_slots - len(running)
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        survivors = []
        for request, token in zip(running, tokens, strict=True):
            outputs[request.request_id].append(token)
            if token != stop_token and len(outputs[request.request_id]) != request.max_tokens:
                survivors.append(request)
        # An empty batch can take them all at once.
        running = survivors + list(islice(feed, room if survivors else num_slots))
    return outputs
