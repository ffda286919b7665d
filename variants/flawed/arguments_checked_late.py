"""A request is checked when it is admitted, so a bad one raises after calls were made."""

from collections import deque

BREAKS = ("arguments/rejected",)


class Scheduler:
    def __init__(self, requests, num_slots):
        if num_slots < 1:
            raise ValueError("num_slots should be at least 1")
        self.waiting, self.running, self.outputs = deque(requests), [], {}
        self.num_slots = num_slots

    def admit(self):
        while self.waiting and len(self.running) < self.num_slots:
            request = self.waiting.popleft()
            if request.request_id in self.outputs or request.max_tokens < 0:
                raise ValueError(f"request {request.request_id!r} cannot be admitted")
            self.outputs[request.request_id] = []
            if request.max_tokens > 0:
                self.running.append(request)
        return bool(self.running)

    def update(self, tokens, stop_token):
        for request, token in zip(self.running, tokens, strict=True):
            self.outputs[request.request_id].append(token)
        self.running = [request for request in self.running if not self.full(request, stop_token)]

    def full(self, request, stop_token):
        output = self.outputs[request.request_id]
        return output[-1] == stop_token or len(output) == request.max_tokens


def generate(model, requests, num_slots, stop_token):
    scheduler = Scheduler(requests, num_slots)
    while scheduler.admit():
        rows = [request.prompt + scheduler.outputs[request.request_id] for request in scheduler.running]
        scheduler.update(model.next_tokens(rows), stop_token)
    return scheduler.outputs
