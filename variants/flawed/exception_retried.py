"""A call that raises is made once more."""

from itertools import islice

from reference.vocabulary import check_arguments

BREAKS = ("failure/surfaces",)


def ask(model, rows, attempts=2):
    while True:
        attempts -= 1
        try:
            return model.next_tokens([list(row) for row in rows])
        except Exception:
            if not attempts:
                raise


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    outputs = {request.request_id: [] for request in requests}
    feed = (request for request in requests if request.max_tokens > 0)
    running = list(islice(feed, num_slots))
    while running:
        tokens = ask(model, [request.prompt + outputs[request.request_id] for request in running])
        survivors = []
        for request, token in zip(running, tokens, strict=True):
            outputs[request.request_id].append(token)
            if token != stop_token and len(outputs[request.request_id]) < request.max_tokens:
                survivors.append(request)
        running = survivors + list(islice(feed, num_slots - len(survivors)))
    return outputs
