"""Ids are stripped and put in lower case, so " A" and "a" become one key."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("output/complete",)


def normal(request_id):
    return request_id.strip().lower()


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    finished = []
    waiting = deque((request, []) for request in requests)
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            request, generated = waiting.popleft()
            (running if request.max_tokens > 0 else finished).append((request, generated))
        if not running:
            continue
        tokens = model.next_tokens([request.prompt + generated for request, generated in running])
        going = []
        for (request, generated), token in zip(running, tokens, strict=True):
            generated.append(token)
            full = token == stop_token or len(generated) == request.max_tokens
            (finished if full else going).append((request, generated))
        running = going
    return {normal(request.request_id): generated for request, generated in finished}
