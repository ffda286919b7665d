"""A slot goes on counting where its former request left off, so a newcomer ends early."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("finish/length",)


class Slot:
    def __init__(self):
        self.request, self.generated, self.count = None, [], 0

    def seat(self, request):
        self.request, self.generated = request, []

    def take(self, token, stop_token):
        self.generated.append(token)
        self.count += 1
        return token == stop_token or self.count >= self.request.max_tokens


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
        tokens = model.next_tokens([slot.request.prompt + slot.generated for slot in busy])
        for slot, token in zip(busy, tokens, strict=True):
            if slot.take(token, stop_token):
                results[slot.request.request_id] = slot.generated
                slot.request = None
