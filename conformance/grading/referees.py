"""Referees in processes of their own, as an executor: they end when this process does, however it ends.

    python -P -m conformance.grading.referees     (one referee: pickled calls on its input, results on its output)

Like `concurrent.futures.ProcessPoolExecutor`, with two differences: a process that dies costs only the call it
was in, which is tried once more in a new one; and nothing is forked that has threads.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

END_SECONDS = 5.0
TRIES = 2


class RefereeEnded(Exception):
    """The process that made a call is gone, and so was the one before it."""


class Referees(ThreadPoolExecutor):
    """Make calls in `jobs` processes, each looked after by one thread. What is called must be importable."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs, "referee")
        self._own = threading.local()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()
        self._closing = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        # Within a frame, so that what cannot be read there costs this call only.
        return super().submit(self._call, pickle.dumps(pickle.dumps((fn, args, kwargs))))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes: after the calls that were submitted, or with `cancel_futures` at once."""
        if not cancel_futures:
            super().shutdown(wait)
        with self._guard:
            self._closing = True
            processes = list(self._processes)
        for process in processes:
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
        for process in processes:
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        super().shutdown(wait, cancel_futures=cancel_futures)
        for process in processes:
            process.stdout.close()  # type: ignore[union-attr]

    def _call(self, call: bytes) -> Any:
        for _ in range(TRIES):
            process = self._process()
            with suppress(OSError, EOFError, pickle.UnpicklingError):
                process.stdin.write(call)  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]
                answer = pickle.load(process.stdout)  # type: ignore[arg-type]
                break
            self._forget(process)
        else:
            raise RefereeEnded("the referee process ended, twice")
        good, result = pickle.loads(answer)
        if good:
            return result
        raise result

    def _process(self) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if process is None:
            with self._guard:
                if self._closing:
                    raise RefereeEnded("the referees are ending")
                process = _started()
                self._processes.add(process)
            self._own.process = process
        return process

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        """See to it that a process that broke off is gone, and start another one the next time."""
        self._own.process = None
        process.kill()
        process.wait()
        with suppress(OSError):
            process.stdin.close()  # type: ignore[union-attr]
        process.stdout.close()  # type: ignore[union-attr]
        with self._guard:
            self._processes.discard(process)


def _started() -> subprocess.Popen[bytes]:
    home = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "conformance.grading.referees"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )


class Interrupted(BaseException):
    """The one who made the calls is gone."""


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Make the calls that come, until they end. Their end interrupts a call."""
    calls: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    main = threading.main_thread().ident or 0
    received, made = 0, 0

    def interrupt(*_: Any) -> None:
        raise Interrupted

    def listen() -> None:
        nonlocal received
        with suppress(EOFError, pickle.UnpicklingError):
            while True:
                data = pickle.load(source)
                received += 1
                calls.put(data)
        calls.put(b"")
        if made < received:
            signal.pthread_kill(main, signal.SIGTERM)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, interrupt)
    threading.Thread(target=listen, daemon=True).start()
    with suppress(Interrupted, BrokenPipeError):
        while call := calls.get():
            answer = _answer(call)
            made += 1
            sink.write(pickle.dumps(answer))
            sink.flush()


def _answer(call: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(call)
        return pickle.dumps((True, function(*args, **kwargs)))
    except Exception as error:
        with suppress(Exception):
            return pickle.dumps((False, error))
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what is printed by mistake must not be taken for an answer
        serve(sys.stdin.buffer, answers)
