"""Generated tokens are appended to the caller's prompt."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("input/unchanged",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    starts = {request.request_id: len(request.prompt) for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = {}
    free = list(range(min(num_slots, len(waiting))))
    while waiting or slots:
        while waiting and free:
            slots[free.pop()] = waiting.popleft()
        tokens = model.next_tokens([list(request.prompt) for request in slots.values()])
        if len(tokens) != len(slots):
            raise ValueError("one token a row, please")
        for (slot, request), token in zip(list(slots.items()), tokens):
            request.prompt.append(token)
            if token == stop_token or len(request.prompt) - starts[request.request_id] == request.max_tokens:
                del slots[slot]
                free.append(slot)
    return {request.request_id: request.prompt[starts[request.request_id] :] for request in requests}
