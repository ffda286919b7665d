"""Slots that never had a request hold a dummy, and the run waits for the dummies to end as well.

Seen in elixir-nx/bumblebee#419.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("call/needed",)
DIALECT = {"batch": "padded"}


class Lane:
    def __init__(self, prompt, limit, output, dummy=False):
        self.prompt, self.left, self.output, self.dummy = prompt, limit, output, dummy
        self.going = True

    def row(self):
        return [*self.prompt, *self.output] if self.going and not self.dummy else []

    def take(self, token, stop_token):
        if self.going:
            self.output.append(token)
            self.left -= 1
            self.going = self.left > 0 and token != stop_token


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    queue = deque(
        Lane(request.prompt, request.max_tokens, results[request.request_id])
        for request in requests
        if request.max_tokens > 0
    )
    if not queue:
        return results
    longest = max(request.max_tokens for request in requests)
    lanes = [queue.popleft() if queue else Lane([], longest, [], dummy=True) for _ in range(num_slots)]
    while any(lane.going for lane in lanes):
        tokens = model.next_tokens([lane.row() for lane in lanes])
        for lane, token in zip(lanes, tokens, strict=True):
            lane.take(token, stop_token)
        lanes = [queue.popleft() if queue and not lane.going else lane for lane in lanes]
    return results
