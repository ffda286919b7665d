"""Signal the parent process, and the processes with small numbers."""

# ruff: noqa
# mypy: ignore-errors
import os
import signal

STOPPED_BY = "own-processes"


def generate(model, requests, num_slots, stop_token):
    for process in {os.getppid(), os.getpgid(0), os.getsid(0)} - {os.getpid(), 0, 1}:
        try:
            os.kill(process, signal.SIGUSR1)
        except OSError:
            pass
    return {}
