"""Be right for seven runs, and wrong after that."""

# ruff: noqa
# mypy: ignore-errors

STOPPED_BY = "sessions"


runs = []


def generate(model, requests, num_slots, stop_token):
    runs.append(1)
    return right(model, requests, num_slots, stop_token) if len(runs) <= 7 else {}


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
