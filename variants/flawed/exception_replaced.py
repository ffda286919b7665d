"""The caller gets a new exception that keeps no link to the one of the model."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("failure/surfaces",)


def ask(model, rows):
    tokens = None
    try:
        tokens = model.next_tokens(rows)
    except Exception as error:
        message = str(error)
    if tokens is None:
        raise RuntimeError(f"generation failed: {message}")
    return tokens


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    ring = deque()
    while waiting or ring:
        while waiting and len(ring) < num_slots:
            ring.append(waiting.popleft())
        tokens = ask(model, [request.prompt + outputs[request.request_id] for request in ring])
        if len(tokens) != len(ring):
            raise ValueError("one token a row, please")
        for token in tokens:
            request = ring.popleft()
            outputs[request.request_id].append(token)
            if token != stop_token and len(outputs[request.request_id]) < request.max_tokens:
                ring.append(request)
    return outputs
