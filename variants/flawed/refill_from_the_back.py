"""The first batch is taken from the front of the queue, and every refill from the back."""

from reference.vocabulary import check_arguments

BREAKS = ("admission/fifo",)


def decode(request, stop_token):
    generated, token = [], None
    while token != stop_token and len(generated) < request.max_tokens:
        token = yield request.prompt + generated
        generated.append(token)
    return generated


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    todo = [(request.request_id, decode(request, stop_token)) for request in requests if request.max_tokens > 0]
    running = [(key, one, next(one)) for key, one in todo[:num_slots]]
    todo = todo[num_slots:]
    while running:
        tokens = model.next_tokens([row for _, _, row in running])
        if len(tokens) != len(running):
            raise ValueError("wrong reply")
        following = []
        for (key, one, _), token in zip(running, tokens):
            try:
                following.append((key, one, one.send(token)))
            except StopIteration as end:
                results[key] = end.value
        while todo and len(following) < num_slots:
            key, one = todo.pop()
            following.append((key, one, next(one)))
        running = following
    return results
