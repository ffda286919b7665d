"""The stop token is compared with `is`, which holds for small integers only."""

from reference.vocabulary import check_arguments

BREAKS = ("finish/stop",)


def lane(feed, outputs, stop_token):
    for request in feed:
        output = outputs[request.request_id]
        for _ in range(request.max_tokens):
            token = yield request.prompt + output
            output.append(token)
            if token is stop_token:
                break


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = iter(list(requests))
    lanes = [lane(feed, outputs, stop_token) for _ in range(min(num_slots, len(requests)))]
    pending = [(one, row) for one, row in [(one, next(one, None)) for one in lanes] if row is not None]
    while pending:
        tokens = model.next_tokens([row for _, row in pending])
        following = []
        for (one, _), token in zip(pending, tokens, strict=True):
            try:
                following.append((one, one.send(token)))
            except StopIteration:
                continue
        pending = following
    return outputs
