"""Requests that find no free slot at the start are dropped, and return nothing."""

from reference.vocabulary import check_arguments

BREAKS = ("refill/immediate", "run/ends")


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    slots = []
    for request in requests:
        if request.max_tokens > 0 and len(slots) < num_slots:
            slots.append(request)
    while slots:
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in slots])
        going = []
        for request, token in zip(slots, tokens, strict=True):
            outputs[request.request_id].append(token)
            if token != stop_token and len(outputs[request.request_id]) < request.max_tokens:
                going.append(request)
        slots = going
    return outputs
