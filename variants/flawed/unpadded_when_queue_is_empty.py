"""Pad rows are sent only while something waits; the last requests go out in a smaller batch."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("pad/shape",)
DIALECT = {"batch": "padded"}


class Slots:
    def __init__(self, num_slots):
        self.held = [None] * num_slots

    def fill(self, waiting):
        for index, one in enumerate(self.held):
            if one is None and waiting:
                self.held[index] = waiting.popleft()

    def drop_idle(self):
        self.held = [one for one in self.held if one is not None]


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = Slots(num_slots)
    while True:
        slots.fill(waiting)
        if not waiting:
            slots.drop_idle()
        if not any(slots.held):
            return outputs
        rows = [[*one.prompt, *outputs[one.request_id]] if one else [] for one in slots.held]
        for index, (one, token) in enumerate(zip(list(slots.held), model.next_tokens(rows), strict=True)):
            if one is not None:
                outputs[one.request_id].append(token)
                if token == stop_token or len(outputs[one.request_id]) == one.max_tokens:
                    slots.held[index] = None
