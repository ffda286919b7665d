"""The queue belongs to the class, and what a failed run left in it is served by the next.

Seen in vllm-project/vllm#17738.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("run/independent",)


class Engine:
    waiting = deque()
    running = []

    def __init__(self, model, num_slots, stop_token):
        self.model, self.num_slots, self.stop_token = model, num_slots, stop_token

    def submit(self, requests):
        self.waiting.extend((request, []) for request in requests if request.max_tokens > 0)

    def step(self, results):
        while self.waiting and len(self.running) < self.num_slots:
            self.running.append(self.waiting.popleft())
        tokens = self.model.next_tokens([request.prompt + generated for request, generated in self.running])
        if len(tokens) != len(self.running):
            raise ValueError("one token a row, please")
        for index in reversed(range(len(tokens))):
            request, generated = self.running[index]
            generated.append(tokens[index])
            if tokens[index] == self.stop_token or len(generated) == request.max_tokens:
                results[request.request_id] = generated
                del self.running[index]


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    engine = Engine(model, num_slots, stop_token)
    engine.submit(requests)
    while engine.waiting or engine.running:
        engine.step(results)
    return results
