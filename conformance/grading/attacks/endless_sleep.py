"""Sleep for ever."""

# ruff: noqa
# mypy: ignore-errors
import time

STOPPED_BY = "time-limit"


def generate(model, requests, num_slots, stop_token):
    time.sleep(10**6)
