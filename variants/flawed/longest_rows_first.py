"""The rows are sorted by length for the call, and the replies are read in the unsorted order."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("row/reply",)


class Sequence:
    def __init__(self, request, output):
        self.prompt, self.limit, self.output = request.prompt, request.max_tokens, output

    def row(self):
        return [*self.prompt, *self.output]

    def push(self, token, stop_token):
        self.output.append(token)
        return token != stop_token and len(self.output) < self.limit


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    waiting = deque(Sequence(r, results[r.request_id]) for r in requests if r.max_tokens > 0)
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(waiting.popleft())
        batch = sorted((sequence.row() for sequence in running), key=len, reverse=True)
        tokens = model.next_tokens(batch)
        running = [s for s, token in zip(running, tokens, strict=True) if s.push(token, stop_token)]
    return results
