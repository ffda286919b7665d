"""When a newcomer joins, the batch is rebuilt from the prompts, and the running requests start again.

Seen in sgl-project/sglang#39645.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("admission/once",)


class Sequence:
    def __init__(self, request):
        self.request, self.generated = request, []

    def full(self, stop_token):
        return self.generated[-1:] == [stop_token] or len(self.generated) == self.request.max_tokens


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    batch = []
    while waiting or batch:
        if waiting and len(batch) < num_slots:
            members = [sequence.request for sequence in batch]
            members += [waiting.popleft() for _ in range(min(len(waiting), num_slots - len(batch)))]
            batch = [Sequence(request) for request in members]
        tokens = model.next_tokens([[*s.request.prompt, *s.generated] for s in batch])
        for sequence, token in zip(batch, tokens, strict=True):
            sequence.generated.append(token)
            results[sequence.request.request_id] = sequence.generated
        batch = [sequence for sequence in batch if not sequence.full(stop_token)]
    return results
