"""The steps are an iterator, and a StopIteration of the model looks like its end: a partial result is returned."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("failure/any-class",)


class Steps:
    def __init__(self, model, requests, num_slots):
        self.model, self.num_slots = model, num_slots
        self.waiting = deque((request, []) for request in requests if request.max_tokens > 0)
        self.running = []

    def __iter__(self):
        return self

    def __next__(self):
        while self.waiting and len(self.running) < self.num_slots:
            self.running.append(self.waiting.popleft())
        if not self.running:
            raise StopIteration
        step, self.running = self.running, []
        tokens = self.model.next_tokens([[*request.prompt, *generated] for request, generated in step])
        return list(zip(step, tokens, strict=True))


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    steps = Steps(model, requests, num_slots)
    for step in steps:
        for (request, generated), token in step:
            generated.append(token)
            results[request.request_id] = generated
            if token != stop_token and len(generated) < request.max_tokens:
                steps.running.append((request, generated))
    return results
