"""A request cut by its limit goes back into the queue once, as if that were a failure to be retried."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("admission/once",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    waiting = deque((request, 1) for request in requests if request.max_tokens > 0)
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            request, retries = waiting.popleft()
            running.append((request, retries, []))
        tokens = model.next_tokens([[*request.prompt, *generated] for request, _, generated in running])
        following = []
        for (request, retries, generated), token in zip(running, tokens, strict=True):
            generated.append(token)
            if token != stop_token and len(generated) < request.max_tokens:
                following.append((request, retries, generated))
                continue
            results[request.request_id] = generated
            if token != stop_token and retries:
                waiting.append((request, retries - 1))
        running = following
    return results
