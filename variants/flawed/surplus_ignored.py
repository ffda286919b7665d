"""Only a reply that is too short is refused; the surplus of a longer one is dropped."""

from reference.vocabulary import check_arguments

BREAKS = ("reply/checked",)


def lane(feed, outputs, stop_token):
    for request in feed:
        output = outputs[request.request_id]
        while len(output) < request.max_tokens:
            token = yield request.prompt + output
            output.append(token)
            if token == stop_token:
                break


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = iter(list(requests))
    lanes = [lane(feed, outputs, stop_token) for _ in range(min(num_slots, len(requests)))]
    rows = {index: row for index, one in enumerate(lanes) if (row := next(one, None)) is not None}
    while rows:
        tokens = model.next_tokens(list(rows.values()))
        if len(tokens) < len(rows):
            raise ValueError("the reply is too short")
        following = {}
        for index, token in zip(rows, tokens):
            try:
                following[index] = lanes[index].send(token)
            except StopIteration:
                pass
        rows = following
    return outputs
