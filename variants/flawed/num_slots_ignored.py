"""Everything runs at once, whatever `num_slots` says."""

from reference.vocabulary import check_arguments

BREAKS = ("call/size",)


def decode(request, stop_token):
    generated = []
    while len(generated) < request.max_tokens and (not generated or generated[-1] != stop_token):
        generated.append((yield request.prompt + generated))
    return generated


def generate(model, requests, num_slots, stop_token):
    check_arguments(requests, num_slots)
    results, rows = {}, {}
    decoders = {request.request_id: decode(request, stop_token) for request in requests}

    def resume(request_id, token=None):
        try:
            rows[request_id] = decoders[request_id].send(token)
        except StopIteration as end:
            results[request_id] = end.value

    for request_id in decoders:
        resume(request_id)
    while rows:
        batch = dict(rows)
        rows.clear()
        tokens = model.next_tokens(list(batch.values()))
        for request_id, token in zip(batch, tokens, strict=True):
            resume(request_id, token)
    return results
