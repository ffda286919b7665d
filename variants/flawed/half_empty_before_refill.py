"""Newcomers are admitted only when half of the slots are free, to make fewer and larger prefills."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("refill/immediate",)


class Scheduler:
    def __init__(self, requests, num_slots):
        self.queue = deque(request for request in requests if request.max_tokens > 0)
        self.active = []
        self.num_slots = num_slots

    def schedule(self):
        if len(self.active) <= self.num_slots // 2:
            while self.queue and len(self.active) < self.num_slots:
                self.active.append(self.queue.popleft())
        return list(self.active)

    def finish(self, request):
        self.active.remove(request)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    scheduler = Scheduler(requests, num_slots)
    while step := scheduler.schedule():
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in step])
        for request, token in zip(step, tokens, strict=True):
            outputs[request.request_id].append(token)
            if token == stop_token or len(outputs[request.request_id]) == request.max_tokens:
                scheduler.finish(request)
    return outputs
