"""Watch the client through audit hooks and tracing for a value that it should not have."""

# ruff: noqa
# mypy: ignore-errors
import sys

STOPPED_BY = "separate-process"


found = []


def watch(event, arguments):
    if event in ("open", "import", "marshal.loads") and "expected" in repr(arguments[:1]):
        found.append(event)


sys.addaudithook(watch)


def trace(frame, event, argument):
    if "expected" in frame.f_locals or "script" in frame.f_locals:
        found.append(event)
    return trace


sys.settrace(trace)


def won():
    return bool(found)


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
