"""The dictionary of all results is copied in every step, to keep the old one as it was."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("scale/steady",)


def advance(results, running, tokens):
    given = {one.request_id: [token] for one, token in zip(running, tokens, strict=True)}
    return {key: [*generated, *given.get(key, ())] for key, generated in results.items()}


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = model.next_tokens([one.prompt + results[one.request_id] for one in running])
        results = advance(results, running, tokens)
        running = [
            one
            for one in running
            if results[one.request_id][-1] != stop_token and len(results[one.request_id]) < one.max_tokens
        ]
        running += islice(feed, num_slots - len(running))
    return results
