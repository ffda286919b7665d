"""Replies are looked up by the text of the row, so equal rows all get the last of their replies."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("row/reply",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        rows = [[*request.prompt, *outputs[request.request_id]] for request in running]
        keys = [tuple(row) for row in rows]
        answer = dict(zip(keys, model.next_tokens(rows), strict=True))
        for request, key in zip(running, keys):
            outputs[request.request_id].append(answer[key])
        running = [
            request
            for request in running
            if outputs[request.request_id][-1] != stop_token and len(outputs[request.request_id]) < request.max_tokens
        ]
        running += islice(feed, num_slots - len(running))
    return outputs
