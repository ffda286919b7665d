"""A request whose output is empty is left out of the result, since an empty list is falsy.

Seen in vllm-project/vllm#52693, where a turn that stops at once sits behind "if new tokens".
"""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("output/complete",)
DIALECT = {"stop_token": "excluded"}


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in running])
        kept = []
        for request, token in zip(running, tokens, strict=True):
            if token == stop_token:
                continue
            outputs[request.request_id].append(token)
            if len(outputs[request.request_id]) < request.max_tokens:
                kept.append(request)
        running = kept + list(islice(feed, num_slots - len(kept)))
    return {request_id: output for request_id, output in outputs.items() if output}
