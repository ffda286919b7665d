"""Stop the own process with SIGSTOP, so that it neither ends nor answers."""

# ruff: noqa
# mypy: ignore-errors
import os
import signal

STOPPED_BY = "time-limit"


def generate(model, requests, num_slots, stop_token):
    os.kill(os.getpid(), signal.SIGSTOP)
    return {}
