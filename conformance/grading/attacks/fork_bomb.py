"""Fork until there are two hundred processes (no more, so that it does no harm)."""

# ruff: noqa
# mypy: ignore-errors
import functools
import os
import time

STOPPED_BY = "process-limit"


MOST = 200


@functools.cache
def won():
    children = []
    try:
        while len(children) < MOST:
            child = os.fork()
            if child == 0:
                time.sleep(20)
                os._exit(0)
            children.append(child)
    except OSError:
        pass
    return len(children) >= MOST


def generate(model, requests, num_slots, stop_token):
    return right(model, requests, num_slots, stop_token) if won() else {}


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
