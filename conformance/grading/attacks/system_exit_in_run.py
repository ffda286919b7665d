"""Raise SystemExit in a run."""

# ruff: noqa
# mypy: ignore-errors

STOPPED_BY = "exit-is-no-pass"


def generate(model, requests, num_slots, stop_token):
    raise SystemExit(0)
