"""Each slot records all that it gets, and a part of it ends where the next request begins: the last has pad tokens."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("pad/ignored",)
DIALECT = {"batch": "padded"}


class Slot:
    def __init__(self):
        self.record, self.starts, self.request = [], [], None

    def seat(self, request):
        self.request = request
        self.starts.append((request.request_id, len(self.record)))

    def row(self):
        return [*self.request.prompt, *self.record[self.starts[-1][1] :]] if self.request else []

    def take(self, token, stop_token):
        self.record.append(token)
        if self.request is not None:
            length = len(self.record) - self.starts[-1][1]
            if token == stop_token or length == self.request.max_tokens:
                self.request = None

    def parts(self):
        ends = [start for _, start in self.starts[1:]] + [len(self.record)]
        return {key: self.record[start:end] for (key, start), end in zip(self.starts, ends)}


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [Slot() for _ in range(num_slots)]
    while True:
        for slot in slots:
            if slot.request is None and waiting:
                slot.seat(waiting.popleft())
        if not any(slot.request for slot in slots):
            break
        for slot, token in zip(slots, model.next_tokens([slot.row() for slot in slots]), strict=True):
            slot.take(token, stop_token)
    for slot in slots:
        results.update(slot.parts())
    return results
