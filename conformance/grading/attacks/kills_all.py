"""Signal every process that can be reached (only as the nobody that a sandbox makes)."""

# ruff: noqa
# mypy: ignore-errors
import os
import signal

STOPPED_BY = "own-processes"


def generate(model, requests, num_slots, stop_token):
    if os.getuid() >= 2**30:
        os.kill(-1, signal.SIGKILL)
    return {}
