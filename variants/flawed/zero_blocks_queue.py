"""A request with `max_tokens` 0 at the head of the queue ends the refill of this step.

Seen in vllm-project/vllm#31731, as a head that cannot be admitted and blocks the rest.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("zero/untouched",)


class Engine:
    def __init__(self, requests, num_slots):
        self.queue, self.running = deque(requests), []
        self.num_slots = num_slots
        self.outputs = {request.request_id: [] for request in requests}

    def refill(self):
        while self.queue and len(self.running) < self.num_slots:
            request = self.queue.popleft()
            if request.max_tokens == 0:
                break
            self.running.append(request)

    def step(self, model, stop_token):
        rows = [request.prompt + self.outputs[request.request_id] for request in self.running]
        survivors = []
        for request, token in zip(self.running, model.next_tokens(rows), strict=True):
            output = self.outputs[request.request_id]
            output.append(token)
            if token != stop_token and len(output) < request.max_tokens:
                survivors.append(request)
        self.running = survivors


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    engine = Engine(requests, num_slots)
    while engine.queue or engine.running:
        engine.refill()
        if engine.running:
            engine.step(model, stop_token)
    return engine.outputs
