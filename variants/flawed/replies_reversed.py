"""The batch is walked from the back so that removal is safe, but the tokens are popped from the front."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("row/reply",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    live = []
    while True:
        while len(live) < num_slots and waiting:
            live.append(waiting.popleft())
        if not live:
            break
        tokens = deque(model.next_tokens([[*one.prompt, *outputs[one.request_id]] for one in live]))
        if len(tokens) != len(live):
            raise ValueError("reply of the wrong length")
        for index in range(len(live) - 1, -1, -1):
            token = tokens.popleft()
            output = outputs[live[index].request_id]
            output.append(token)
            if token == stop_token or len(output) == live[index].max_tokens:
                del live[index]
    return outputs
