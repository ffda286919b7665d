"""`max_tokens` of the caller's request is counted down to zero."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("input/unchanged",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    batch = []
    while waiting or batch:
        batch += [waiting.popleft() for _ in range(min(len(waiting), num_slots - len(batch)))]
        tokens = model.next_tokens([request.prompt + outputs[request.request_id] for request in batch])
        for request, token in zip(batch, tokens, strict=True):
            outputs[request.request_id].append(token)
            request.max_tokens -= 1
        batch = [r for r in batch if r.max_tokens > 0 and outputs[r.request_id][-1] != stop_token]
    return outputs
