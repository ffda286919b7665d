"""A request that stops gets its last token twice, once by the step and once by the ending.

Seen in triton-inference-server/tensorrtllm_backend#167.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("output/own",)


class Stream:
    def __init__(self, request, sink):
        self.request, self.sink, self.seen = request, sink, []

    def on_token(self, token):
        self.seen.append(token)
        self.sink.append(token)

    def on_end(self, token):
        self.sink.append(token)

    def advance(self, token, stop_token):
        self.on_token(token)
        if token == stop_token:
            self.on_end(token)
            return False
        return len(self.seen) < self.request.max_tokens


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    waiting = deque(Stream(request, results[request.request_id]) for request in requests if request.max_tokens > 0)
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(waiting.popleft())
        tokens = model.next_tokens([stream.request.prompt + stream.seen for stream in running])
        running = [s for s, token in zip(running, tokens, strict=True) if s.advance(token, stop_token)]
    return results
