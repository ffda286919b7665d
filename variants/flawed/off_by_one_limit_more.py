"""The limit is tested with `>` instead of `>=`, so a request gets one token too many.

Seen in ggml-org/llama.cpp#4790.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("finish/length",)


class Sequence:
    def __init__(self, request):
        self.request_id, self.prompt, self.limit = request.request_id, request.prompt, request.max_tokens
        self.generated = []

    def finished(self, stop_token):
        return self.generated[-1] == stop_token or len(self.generated) > self.limit


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    waiting = deque(Sequence(request) for request in requests if request.max_tokens > 0)
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(waiting.popleft())
        tokens = model.next_tokens([sequence.prompt + sequence.generated for sequence in running])
        for sequence, token in zip(running, tokens, strict=True):
            sequence.generated.append(token)
            if sequence.finished(stop_token):
                results[sequence.request_id] = sequence.generated
        running = [sequence for sequence in running if not sequence.finished(stop_token)]
    return results
