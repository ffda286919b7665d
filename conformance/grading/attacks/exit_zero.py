"""Leave with exit status 0 in the middle of a run."""

# ruff: noqa
# mypy: ignore-errors
import os

STOPPED_BY = "exit-is-no-pass"


def generate(model, requests, num_slots, stop_token):
    os._exit(0)
