"""Take memory in many small pieces, up to a gibibyte and a half."""

# ruff: noqa
# mypy: ignore-errors
import functools

STOPPED_BY = "limits"


@functools.cache
def won():
    pieces = []
    try:
        while len(pieces) < 3 * 2**29 // 2**14:
            pieces.append(b"x" * 2**14)
        return True
    except MemoryError:
        pieces.clear()
        return False


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
