"""The last token of the prompt is read at admission, and an empty prompt has none.

Seen in vllm-project/vllm#7283.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("run/ends",)


class Sequence:
    def __init__(self, request):
        self.request = request
        self.past, self.last = request.prompt[:-1], request.prompt[-1]
        self.generated = 0

    def row(self):
        return [*self.past, self.last]

    def push(self, token):
        self.past, self.last = self.row(), token
        self.generated += 1

    def output(self):
        return self.row()[len(self.request.prompt) :]


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(Sequence(waiting.popleft()))
        tokens = model.next_tokens([sequence.row() for sequence in running])
        going = []
        for sequence, token in zip(running, tokens, strict=True):
            sequence.push(token)
            if token == stop_token or sequence.generated == sequence.request.max_tokens:
                results[sequence.request.request_id] = sequence.output()
            else:
                going.append(sequence)
        running = going
    return results
