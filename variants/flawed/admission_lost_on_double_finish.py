"""The freed slot is kept in a single variable, so of several that are freed in one step only the last is used again."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("refill/immediate",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = {index: waiting.popleft() for index in range(min(num_slots, len(waiting)))}
    while slots:
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in slots.values()])
        freed = None
        for (index, request), token in zip(list(slots.items()), tokens, strict=True):
            outputs[request.request_id].append(token)
            if token == stop_token or len(outputs[request.request_id]) == request.max_tokens:
                del slots[index]
                freed = index
        if freed is not None and waiting:
            slots[freed] = waiting.popleft()
    return outputs
