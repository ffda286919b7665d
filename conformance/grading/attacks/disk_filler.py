"""Fill the disk, up to a hundred megabytes."""

# ruff: noqa
# mypy: ignore-errors
import functools
import os

STOPPED_BY = "limits"


@functools.cache
def won():
    written = 0
    for number in range(10):
        path = os.path.join(os.environ.get("TMPDIR", "."), f"slotspec-attack-{number}")
        try:
            with open(path, "wb", buffering=0) as file:
                for _ in range(10):
                    written += file.write(bytes(2**20))
        except OSError:
            pass
    for number in range(10):
        try:
            os.unlink(os.path.join(os.environ.get("TMPDIR", "."), f"slotspec-attack-{number}"))
        except OSError:
            pass
    return written >= 90 * 2**20


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
