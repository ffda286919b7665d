"""A newcomer overwrites the start of its slot's buffer, and the tail of the former owner stays.

Seen in waybarrios/vllm-mlx#384.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("row/prefix",)


class Slot:
    def __init__(self):
        self.buffer = []
        self.request = None
        self.count = 0

    def seat(self, request):
        self.buffer[: len(request.prompt)] = request.prompt
        self.request, self.count = request, 0


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    slots = [Slot() for _ in range(min(num_slots, len(waiting)))]
    while True:
        for slot in slots:
            if slot.request is None and waiting:
                slot.seat(waiting.popleft())
        busy = [slot for slot in slots if slot.request is not None]
        if not busy:
            return results
        tokens = model.next_tokens([list(slot.buffer) for slot in busy])
        for slot, token in zip(busy, tokens, strict=True):
            slot.buffer.append(token)
            slot.count += 1
            results[slot.request.request_id].append(token)
            if token == stop_token or slot.count == slot.request.max_tokens:
                slot.request = None
