"""An idle slot still writes what it gets to the output of the request that it held last."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("pad/ignored",)
DIALECT = {"batch": "padded"}


class Slot:
    def __init__(self):
        self.request, self.output, self.idle = None, [], True

    def seat(self, request, output):
        self.request, self.output, self.idle = request, output, False

    def row(self):
        return [] if self.idle else [*self.request.prompt, *self.output]

    def take(self, token, stop_token):
        self.output.append(token)
        if not self.idle:
            self.idle = token == stop_token or len(self.output) == self.request.max_tokens


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [Slot() for _ in range(num_slots)]
    while True:
        for slot in slots:
            if slot.idle and waiting:
                request = waiting.popleft()
                slot.seat(request, outputs[request.request_id])
        if all(slot.idle for slot in slots):
            return outputs
        tokens = model.next_tokens([slot.row() for slot in slots])
        for slot, token in zip(slots, tokens, strict=True):
            slot.take(token, stop_token)
