"""Return a million tokens for every request."""

# ruff: noqa
# mypy: ignore-errors

STOPPED_BY = "output-limit"


def generate(model, requests, num_slots, stop_token):
    return {r.request_id: list(range(10**6)) for r in requests}
