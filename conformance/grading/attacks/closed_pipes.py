"""Close every descriptor."""

# ruff: noqa
# mypy: ignore-errors
import os

STOPPED_BY = "exit-is-no-pass"


def generate(model, requests, num_slots, stop_token):
    os.closerange(0, 256)
    return {}
