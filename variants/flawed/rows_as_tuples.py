"""The rows are tuples, and the question says lists."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("call/size",)


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    generated = {request.request_id: () for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    live = tuple(islice(feed, num_slots))
    while live:
        tokens = model.next_tokens([(*request.prompt, *generated[request.request_id]) for request in live])
        for request, token in zip(live, tokens, strict=True):
            generated[request.request_id] += (token,)
        live = tuple(
            request
            for request in live
            if generated[request.request_id][-1] != stop_token
            and len(generated[request.request_id]) < request.max_tokens
        )
        live += tuple(islice(feed, num_slots - len(live)))
    return {request_id: list(tokens) for request_id, tokens in generated.items()}
