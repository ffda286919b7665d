"""The waiting requests form a stack: the last one is admitted first."""

from reference.vocabulary import check_arguments

BREAKS = ("admission/fifo",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = [request for request in requests if request.max_tokens > 0]
    slots = [None] * min(num_slots, len(waiting))
    while waiting or any(slots):
        slots = [held or (waiting.pop() if waiting else None) for held in slots]
        busy = [held for held in slots if held]
        tokens = model.next_tokens([held.prompt + outputs[held.request_id] for held in busy])
        gone = set()
        for held, token in zip(busy, tokens, strict=True):
            outputs[held.request_id].append(token)
            if token == stop_token or len(outputs[held.request_id]) == held.max_tokens:
                gone.add(held.request_id)
        slots = [None if held and held.request_id in gone else held for held in slots]
    return outputs
