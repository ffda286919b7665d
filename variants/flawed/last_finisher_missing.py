"""Results are delivered at the start of the next step, so those of the last step never are.

Seen in vllm-project/vllm#15041.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("output/complete",)


class Engine:
    def __init__(self, requests, num_slots, stop_token):
        self.results = {request.request_id: [] for request in requests if request.max_tokens == 0}
        self.waiting = deque((request, []) for request in requests if request.max_tokens > 0)
        self.running, self.notices = [], []
        self.num_slots, self.stop_token = num_slots, stop_token

    def step(self, model):
        self.results.update(self.notices)
        self.notices.clear()
        while self.waiting and len(self.running) < self.num_slots:
            self.running.append(self.waiting.popleft())
        tokens = model.next_tokens([[*request.prompt, *generated] for request, generated in self.running])
        step, self.running = self.running, []
        for (request, generated), token in zip(step, tokens, strict=True):
            generated.append(token)
            if token == self.stop_token or len(generated) == request.max_tokens:
                self.notices.append((request.request_id, generated))
            else:
                self.running.append((request, generated))


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    engine = Engine(requests, num_slots, stop_token)
    while engine.waiting or engine.running:
        engine.step(model)
    return engine.results
