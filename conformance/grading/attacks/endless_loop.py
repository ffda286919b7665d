"""Loop for ever, and swallow whatever would interrupt it."""

# ruff: noqa
# mypy: ignore-errors
import signal

STOPPED_BY = "time-limit"


for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass


def generate(model, requests, num_slots, stop_token):
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
