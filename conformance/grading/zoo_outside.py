"""What lies outside the sandbox, watched: files, another process, signals, and what is left behind."""

from __future__ import annotations

import contextlib
import glob
import os
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from conformance.grading import attacks
from conformance.grading.sandbox import strays
from reference import vocabulary

CANARY, MARK = "slotspec-canary", "slotspec-attack-*"
SIGNALS = ("SIGUSR1", "SIGUSR2", "SIGHUP", "SIGALRM")


class Outside:
    """A context in which attacks run; `changes` says what is no longer as it was, and mends it."""

    def __enter__(self) -> Outside:
        self._folder = Path(tempfile.gettempdir())
        self._canary = self._folder / CANARY
        self._mend()
        self._neighbour = subprocess.Popen(["sleep", "3600"], start_new_session=True)
        self._shown = self._seen()
        self._heard: list[int] = []
        self._handlers: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for name in SIGNALS:
                number = getattr(signal, name)
                self._handlers[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._neighbour.kill()
        self._neighbour.wait()
        self._canary.unlink(missing_ok=True)

    def changes(self) -> list[str]:
        """Say what an attack did outside."""
        found = []
        if not self._canary.is_file() or self._canary.read_text() != "alive":
            found.append("a file outside was changed")
        if self._neighbour.poll() is not None:
            found.append("another process was ended")
        if self._heard:
            found.append(f"the referee got signal {self._heard[0]}")
        if self._seen() != self._shown:
            found.append("a file that the sandbox shows was changed")
            self._shown = self._seen()
        planted = glob.glob(str(self._folder / MARK))
        if planted:
            found.append(f"{len(planted)} files were left behind")
        left = strays()
        if left:
            found.append(f"{len(left)} processes were left behind")
        self._heard.clear()
        self._mend()
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        return found

    def _mend(self) -> None:
        self._canary.write_text("alive")
        self._canary.chmod(0o666)
        for path in glob.glob(str(self._folder / MARK)):
            with contextlib.suppress(OSError):
                os.unlink(path)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._heard.append(number)

    @staticmethod
    def _seen() -> list[tuple[str, int, int]]:
        shown = [Path(__file__).with_name("client.py"), Path(vocabulary.__file__)]
        paths = sorted([*shown, *Path(next(iter(attacks.__path__))).glob("*.py")])
        return [(str(path), (status := path.stat()).st_size, status.st_mtime_ns) for path in paths]
