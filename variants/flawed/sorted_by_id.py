"""The queue is sorted by `request_id`, so "r10" goes before "r2"."""

from reference.vocabulary import check_arguments

BREAKS = ("admission/fifo",)


class Engine:
    def __init__(self, requests, num_slots, stop_token):
        self.by_id = {request.request_id: request for request in requests}
        self.outputs = {request_id: [] for request_id in self.by_id}
        self.waiting = iter(sorted(key for key, request in self.by_id.items() if request.max_tokens > 0))
        self.running = []
        self.num_slots, self.stop_token = num_slots, stop_token

    def refill(self):
        while len(self.running) < self.num_slots:
            key = next(self.waiting, None)
            if key is None:
                break
            self.running.append(key)
        return bool(self.running)

    def step(self, model):
        tokens = model.next_tokens([self.by_id[key].prompt + self.outputs[key] for key in self.running])
        for key, token in zip(self.running, tokens, strict=True):
            self.outputs[key].append(token)
        self.running = [key for key in self.running if not self.full(key)]

    def full(self, key):
        output = self.outputs[key]
        return output[-1] == self.stop_token or len(output) == self.by_id[key].max_tokens


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    engine = Engine(requests, num_slots, stop_token)
    while engine.refill():
        engine.step(model)
    return engine.outputs
