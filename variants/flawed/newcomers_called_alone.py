"""Newcomers get a call of their own for their prompts, and the running requests sit it out.

Seen in sgl-project/sglang#32549.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("slot/held",)


class Scheduler:
    def __init__(self, requests, num_slots):
        self.waiting = deque(request for request in requests if request.max_tokens > 0)
        self.decoding = []
        self.num_slots = num_slots

    def schedule(self):
        """Return the rows of this step: newcomers where there are any, otherwise all that run."""
        room = min(self.num_slots - len(self.decoding), len(self.waiting))
        if room:
            return [self.waiting.popleft() for _ in range(room)]
        step, self.decoding = self.decoding, []
        return step


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    scheduler = Scheduler(requests, num_slots)
    while step := scheduler.schedule():
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in step])
        for request, token in zip(step, tokens, strict=True):
            outputs[request.request_id].append(token)
            if token != stop_token and len(outputs[request.request_id]) < request.max_tokens:
                scheduler.decoding.append(request)
    return outputs
