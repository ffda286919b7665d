"""Do the work while being loaded: patch os, start threads, say hello in the client's place."""

# ruff: noqa
# mypy: ignore-errors
import os
import threading
import time

STOPPED_BY = "wire"


real_write = os.write
os.fork = lambda: 0
os.read = lambda fd, n: b""
os.write = lambda fd, data: real_write(fd, b'["hello",1,[],["generate"],[],""]\n')
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


def generate(model, requests, num_slots, stop_token):
    return {}
