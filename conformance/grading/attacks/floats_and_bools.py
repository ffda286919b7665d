"""Return True, 1.0 and tuples where JSON or == would let them pass for ints and lists."""

# ruff: noqa
# mypy: ignore-errors

STOPPED_BY = "exact-types"


def generate(model, requests, num_slots, stop_token):
    found = right(model, requests, num_slots, stop_token)
    return {key: tuple(float(token) for token in tokens) for key, tokens in found.items()}


def right(model, requests, num_slots, stop_token):
    """The prize: a right answer, given only where the trick worked, so that passing shows that it did."""
    out = {r.request_id: [] for r in requests}
    waiting, running = [r for r in requests if r.max_tokens > 0], []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(waiting.pop(0))
        tokens = model.next_tokens([r.prompt + out[r.request_id] for r in running])
        for r, token in zip(list(running), tokens):
            out[r.request_id].append(token)
            if token == stop_token or len(out[r.request_id]) == r.max_tokens:
                running.remove(r)
    return out
