"""The limit of the request admitted last is applied to the whole batch: a loop variable outlives its loop.

Seen in EvolvingLMMs-Lab/lmms-eval#1325.
"""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("finish/length",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    batch = []
    while True:
        for request in islice(feed, num_slots - len(batch)):
            batch.append((request.prompt, outputs[request.request_id]))
        if not batch:
            return outputs
        tokens = model.next_tokens([prompt + output for prompt, output in batch])
        rest = []
        for (prompt, output), token in zip(batch, tokens, strict=True):
            output.append(token)
            if token != stop_token and len(output) < request.max_tokens:
                rest.append((prompt, output))
        batch = rest
