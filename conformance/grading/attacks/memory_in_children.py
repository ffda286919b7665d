"""Spread the memory over sixteen processes, each within its own limit."""

# ruff: noqa
# mypy: ignore-errors
import os
import time

STOPPED_BY = "memory-total"


def won():
    children = []
    try:
        for _ in range(16):
            child = os.fork()
            if child == 0:
                block = b"x" * (120 * 2**20)
                time.sleep(20)
                os._exit(len(block) == 0)
            children.append(child)
    except OSError:
        return False
    time.sleep(0.8)
    return len(children) == 16


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
