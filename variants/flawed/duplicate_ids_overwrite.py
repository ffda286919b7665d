"""Of two requests with one id, the second overwrites the first, and no error is raised.

Seen in vllm-project/vllm#10583, as two live requests with one id.
"""

from itertools import islice

BREAKS = ("arguments/rejected",)


def generate(model, requests, num_slots, stop_token):
    if num_slots < 1 or any(request.max_tokens < 0 for request in requests):
        raise ValueError("num_slots should be at least 1, and max_tokens at least 0")
    by_id = {request.request_id: request for request in requests}
    outputs = {request_id: [] for request_id in by_id}
    feed = (key for key, request in by_id.items() if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([by_id[key].prompt + outputs[key] for key in running])
        survivors = []
        for key, token in zip(running, tokens, strict=True):
            outputs[key].append(token)
            if token != stop_token and len(outputs[key]) < by_id[key].max_tokens:
                survivors.append(key)
        running = survivors + list(islice(feed, num_slots - len(survivors)))
    return outputs
