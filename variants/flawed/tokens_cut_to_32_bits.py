"""Tokens are masked to 32 bits, which changes negative ones and those beyond the mask."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("row/prefix", "output/own")


class Sequence:
    def __init__(self, request):
        self.request, self.words = request, []

    def push(self, token):
        self.words.append(token & 0xFFFFFFFF)

    def open(self, stop_token):
        return self.words[-1] != stop_token and len(self.words) < self.request.max_tokens


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    sequences = [Sequence(request) for request in requests]
    feed = (sequence for sequence in sequences if sequence.request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([[*one.request.prompt, *one.words] for one in running])
        for one, token in zip(running, tokens, strict=True):
            one.push(token)
        running = [one for one in running if one.open(stop_token)]
        running += islice(feed, num_slots - len(running))
    return {one.request.request_id: one.words for one in sequences}
