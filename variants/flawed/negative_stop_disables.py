"""A negative stop token is read as "no stop token", as -1 often means."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("finish/stop",)


class Sequence:
    def __init__(self, request):
        self.request, self.output = request, []

    def row(self):
        return [*self.request.prompt, *self.output]

    def finished(self, stop_token):
        if stop_token >= 0 and self.output[-1] == stop_token:
            return True
        return len(self.output) >= self.request.max_tokens


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    everyone = [Sequence(request) for request in requests]
    waiting = deque(sequence for sequence in everyone if sequence.request.max_tokens > 0)
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(waiting.popleft())
        tokens = model.next_tokens([sequence.row() for sequence in running])
        for sequence, token in zip(running, tokens, strict=True):
            sequence.output.append(token)
        running = [sequence for sequence in running if not sequence.finished(stop_token)]
    return {sequence.request.request_id: sequence.output for sequence in everyone}
