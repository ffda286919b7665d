"""The batch is padded to the next power of two of what runs, not to `num_slots`.

Seen in huggingface/tgi-gaudi#5, as buckets of batch sizes.
"""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("pad/shape",)
DIALECT = {"batch": "padded"}


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        width = min(num_slots, 1 << (len(running) - 1).bit_length())
        rows = [[*request.prompt, *outputs[request.request_id]] for request in running]
        rows += [[] for _ in range(width - len(rows))]
        tokens = model.next_tokens(rows)
        if len(tokens) != width:
            raise ValueError("one token a row, please")
        survivors = []
        for request, token in zip(running, tokens):
            outputs[request.request_id].append(token)
            if token != stop_token and len(outputs[request.request_id]) < request.max_tokens:
                survivors.append(request)
        running = survivors + list(islice(feed, num_slots - len(survivors)))
    return outputs
