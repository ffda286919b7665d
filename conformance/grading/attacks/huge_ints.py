"""Send and return whole numbers of a million digits."""

# ruff: noqa
# mypy: ignore-errors
import sys

STOPPED_BY = "strict-decoding"


sys.set_int_max_str_digits(0)
HUGE = 1 << 3_300_000


def generate(model, requests, num_slots, stop_token):
    model.next_tokens([[HUGE]])
    return {r.request_id: [HUGE] for r in requests}
