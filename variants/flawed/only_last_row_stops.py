"""The stop test sits behind the loop over the rows, and so sees the last row alone.

Seen in unslothai/unsloth#11039, where it also ended every other row.
"""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("finish/stop",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    left = {request.request_id: request.max_tokens for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    running = {}
    while waiting or running:
        while waiting and len(running) < num_slots:
            request = waiting.popleft()
            running[request.request_id] = request.prompt
        tokens = model.next_tokens([[*prompt, *outputs[key]] for key, prompt in running.items()])
        for key, token in zip(running, tokens, strict=True):
            outputs[key].append(token)
            left[key] -= 1
        if token == stop_token:
            left[key] = 0
        running = {key: prompt for key, prompt in running.items() if left[key] > 0}
    return outputs
