"""The result is keyed by the position of the request, as a string, and not by its id.

Seen in NVIDIA/TensorRT-LLM#2777, as replies that carry a batch index.
"""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("output/complete",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = [[] for _ in requests]
    feed = (index for index, request in enumerate(requests) if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([requests[index].prompt + outputs[index] for index in running])
        survivors = []
        for index, token in zip(running, tokens, strict=True):
            outputs[index].append(token)
            if token != stop_token and len(outputs[index]) < requests[index].max_tokens:
                survivors.append(index)
        running = survivors + list(islice(feed, num_slots - len(survivors)))
    return {str(index): output for index, output in enumerate(outputs)}
