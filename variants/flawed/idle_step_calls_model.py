"""When all slots become free in the same step, an empty call follows before the refill."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("call/needed",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    todo = [request for request in requests if request.max_tokens > 0]
    unfinished = len(todo)
    feed = iter(todo)
    running = list(islice(feed, num_slots))
    while unfinished:
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        emptied = bool(running)
        still = []
        for request, token in zip(running, tokens, strict=True):
            output = outputs[request.request_id]
            output.append(token)
            if token == stop_token or len(output) == request.max_tokens:
                unfinished -= 1
            else:
                still.append(request)
        running = still
        if running or not emptied:
            running += islice(feed, num_slots - len(running))
    return outputs
