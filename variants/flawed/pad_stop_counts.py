"""The end is found by counting stop tokens, those in the replies to pad rows included."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("pad/ignored",)
DIALECT = {"batch": "padded"}


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    unfinished = len(waiting)
    slots = [None] * num_slots
    while unfinished > 0:
        for index in range(num_slots):
            if slots[index] is None and waiting:
                slots[index] = waiting.popleft()
        tokens = model.next_tokens([[*one.prompt, *outputs[one.request_id]] if one else [] for one in slots])
        if len(tokens) != num_slots:
            raise ValueError("one token a row, please")
        unfinished -= tokens.count(stop_token)
        for index, one in enumerate(slots):
            if one is None:
                continue
            outputs[one.request_id].append(tokens[index])
            if tokens[index] == stop_token:
                slots[index] = None
            elif len(outputs[one.request_id]) == one.max_tokens:
                slots[index] = None
                unfinished -= 1
    return outputs
