"""Fork twice, leave the session, and live on after everything else has ended."""

# ruff: noqa
# mypy: ignore-errors
import os
import signal
import time

STOPPED_BY = "own-processes"


def generate(model, requests, num_slots, stop_token):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            time.sleep(20)
        os._exit(0)
    return {}
