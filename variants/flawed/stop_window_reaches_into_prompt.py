"""The stop token is looked for in the last two tokens, and after the first one the window ends in the prompt."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("prompt/inert",)


class Sequence:
    def __init__(self, request):
        self.request, self.output = request, []

    def prefix(self):
        return self.request.prompt + self.output

    def over(self, stop_token):
        return stop_token in self.prefix()[-2:] or len(self.output) == self.request.max_tokens


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    sequences = [Sequence(request) for request in requests]
    waiting = deque(sequence for sequence in sequences if sequence.request.max_tokens > 0)
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(waiting.popleft())
        tokens = model.next_tokens([sequence.prefix() for sequence in running])
        if len(tokens) != len(running):
            raise ValueError("one token a row, please")
        for sequence, token in zip(running, tokens):
            sequence.output.append(token)
        running = [sequence for sequence in running if not sequence.over(stop_token)]
    return {sequence.request.request_id: sequence.output for sequence in sequences}
