"""A stop token in the last allowed position is left out of the result; every other one is returned."""

from reference.vocabulary import check_arguments

BREAKS = ("output/own",)


def decode(request, stop_token):
    generated = []
    while True:
        token = yield request.prompt + generated
        if len(generated) + 1 == request.max_tokens:
            return generated if token == stop_token else [*generated, token]
        generated.append(token)
        if token == stop_token:
            return generated


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    waiting = ((request.request_id, decode(request, stop_token)) for request in requests if request.max_tokens > 0)
    batch = []
    while True:
        while len(batch) < num_slots and (arrival := next(waiting, None)):
            batch.append((*arrival, next(arrival[1])))
        if not batch:
            return results
        tokens = model.next_tokens([row for _, _, row in batch])
        step, batch = batch, []
        for (key, decoder, _), token in zip(step, tokens, strict=True):
            try:
                batch.append((key, decoder, decoder.send(token)))
            except StopIteration as end:
                results[key] = end.value
