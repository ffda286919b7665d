"""Stop tokens are taken out of the prompt, because the pad has the same id.

Seen in huggingface/optimum-habana#1539.
"""

from reference.vocabulary import check_arguments

BREAKS = ("row/prefix",)


def lane(feed, outputs, stop_token):
    for request in feed:
        output = outputs[request.request_id]
        prompt = [token for token in request.prompt if token != stop_token]
        while len(output) < request.max_tokens and output[-1:] != [stop_token]:
            output.append((yield prompt + output))


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = iter(list(requests))
    open_lanes = []
    for _ in range(min(num_slots, len(requests))):
        one = lane(feed, outputs, stop_token)
        row = next(one, None)
        if row is not None:
            open_lanes.append((one, row))
    while open_lanes:
        tokens = model.next_tokens([row for _, row in open_lanes])
        if len(tokens) != len(open_lanes):
            raise ValueError("bad reply")
        asked, open_lanes = open_lanes, []
        for (one, _), token in zip(asked, tokens):
            try:
                open_lanes.append((one, one.send(token)))
            except StopIteration:
                pass
    return outputs
