"""With nothing to generate at all, the model is called once with an empty batch."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("call/needed",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    done = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if request.max_tokens > 0)
    first = [waiting.popleft() for _ in range(min(num_slots, len(waiting)))]
    active = first
    while True:
        tokens = model.next_tokens([request.prompt + done[request.request_id] for request in active])
        if len(tokens) != len(active):
            raise ValueError("the model should return one token a row")
        following = []
        for request, token in zip(active, tokens):
            done[request.request_id].append(token)
            if token != stop_token and len(done[request.request_id]) < request.max_tokens:
                following.append(request)
        while waiting and len(following) < num_slots:
            following.append(waiting.popleft())
        active = following
        if not active:
            return done
