"""All requests take turns: after each call, those that were in it go to the back."""

from collections import deque

from reference.vocabulary import check_arguments

BREAKS = ("slot/held",)


def decode(request, stop_token):
    generated = []
    while True:
        token = yield [*request.prompt, *generated]
        generated.append(token)
        if token == stop_token or len(generated) == request.max_tokens:
            return generated


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results = {request.request_id: [] for request in requests}
    decoders = ((request.request_id, decode(request, stop_token)) for request in requests if request.max_tokens > 0)
    ring = deque((key, decoder, next(decoder)) for key, decoder in decoders)
    while ring:
        turn = [ring.popleft() for _ in range(min(num_slots, len(ring)))]
        tokens = model.next_tokens([row for _, _, row in turn])
        if len(tokens) != len(turn):
            raise ValueError("one token a row, please")
        for (key, decoder, _), token in zip(turn, tokens):
            try:
                ring.append((key, decoder, decoder.send(token)))
            except StopIteration as end:
                results[key] = end.value
    return results
