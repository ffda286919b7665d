"""Return, and leave threads that go on calling the model."""

# ruff: noqa
# mypy: ignore-errors
import threading

STOPPED_BY = "wire"


def generate(model, requests, num_slots, stop_token):
    def go_on():
        while True:
            try:
                model.next_tokens([[1]])
            except BaseException:
                return

    for _ in range(4):
        threading.Thread(target=go_on, daemon=True).start()
    return {}
