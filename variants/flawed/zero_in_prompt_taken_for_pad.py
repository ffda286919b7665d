"""Zeros are taken for padding and stripped from the front of a prompt."""

from collections import deque
from itertools import dropwhile

from reference.vocabulary import check_arguments

BREAKS = ("row/prefix",)


class Sequence:
    def __init__(self, request):
        self.key = request.request_id
        self.context = list(dropwhile(lambda token: token == 0, request.prompt))
        self.output = []
        self.limit = request.max_tokens

    def append(self, token):
        self.context.append(token)
        self.output.append(token)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    sequences = [Sequence(request) for request in requests]
    waiting = deque(sequence for sequence in sequences if sequence.limit > 0)
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(waiting.popleft())
        tokens = model.next_tokens([list(sequence.context) for sequence in running])
        for sequence, token in zip(running, tokens, strict=True):
            sequence.append(token)
        running = [s for s in running if s.output[-1] != stop_token and len(s.output) < s.limit]
    return {sequence.key: sequence.output for sequence in sequences}
