"""Each step admits up to `num_slots` newcomers and does not count those already running.

Seen in GeeeekExplorer/nano-vllm#265.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("call/size",)


class Scheduler:
    def __init__(self, requests, num_slots):
        self.waiting = deque(request for request in requests if request.max_tokens > 0)
        self.running = []
        self.num_slots = num_slots

    def admit(self):
        admitted = 0
        while self.waiting and admitted < self.num_slots:
            self.running.append((self.waiting.popleft(), []))
            admitted += 1

    def is_finished(self):
        return not self.waiting and not self.running


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    scheduler = Scheduler(requests, num_slots)
    while not scheduler.is_finished():
        scheduler.admit()
        step = scheduler.running
        tokens = model.next_tokens([[*request.prompt, *generated] for request, generated in step])
        scheduler.running = []
        for (request, generated), token in zip(step, tokens, strict=True):
            generated.append(token)
            if token == stop_token or len(generated) >= request.max_tokens:
                results[request.request_id] = generated
            else:
                scheduler.running.append((request, generated))
    return results
