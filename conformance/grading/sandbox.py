"""One untrusted process behind as many walls as this machine has, each with a name.

On Linux with bubblewrap, as root or with user namespaces, all of `LAYERS` are in force. Elsewhere an
honest candidate still runs; `Sandbox.layers` says what holds, and `CONTAINING` what a hostile one needs.
`docs/sandbox.md` tells what each layer stops, and what none does.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from conformance.grading import sandbox_bubblewrap as bubblewrap
from conformance.grading.sandbox_limits import Limits, limited
from conformance.grading.sandbox_memory import resident

LAYERS = {
    "limits": "CPU seconds, memory, file size and open files of each process are limited, and there are no core dumps",
    "own-session": "it has a session and a process group of its own, which are killed whole",
    "dies-with-referee": "the kernel kills it when the referee dies, however that happens",
    "memory-total": "the memory of all its processes together is watched",
    "output-limit": "messages are limited in bytes before they are read, and what it prints is lost",
    "own-files": "it sees the interpreter and its own file, read-only, and one small scratch folder that dies with it",
    "own-processes": "it sees, signals and traces no process but its own, and none outlives it",
    "own-ipc": "it shares no System V memory, queue or host name with anyone",
    "no-network": "it has no network, not even the machine's own",
    "no-privileges": "it has a user id of its own or none, no capabilities, and can gain none",
    "process-limit": "the number of its processes and threads is limited",
    "syscall-filter": "system calls that honest candidates do without, and kernels have had holes in, are refused",
}
CONTAINING = tuple(LAYERS)
INSTALL = "install bubblewrap (Debian: apt install bubblewrap) and allow user namespaces, or run as root"
KILL_SECONDS = 5.0
MARK = "SLOTSPEC_REFEREE"
LAST_WORDS = 300  # characters of standard error


class SandboxError(Exception):
    """The sandbox cannot be had as asked for; one line that says what is missing and what would help."""


@dataclass(frozen=True)
class View:
    """What the process can see, all of it read-only: `shown` maps paths inside, from the root, to paths outside.

    `hidden` are folders outside that stay out of sight even where a folder above them is shown.
    `system` shows all of /usr, for programs that are not Python; `python` shows the interpreter.
    """

    shown: Mapping[str, Path]
    hidden: tuple[Path, ...] = ()
    python: bool = True
    system: bool = False


@dataclass
class Sandbox:
    """A process to be: `command` gets the root that `view.shown` hangs under, and returns what to run there."""

    command: Callable[[str], Sequence[str]]
    view: View
    limits: Limits = field(default_factory=Limits)
    require: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.layers = layers()
        unknown = [name for name in self.require if name not in LAYERS]
        if unknown:
            raise SandboxError(f"there is no sandbox layer {unknown[0]!r}; the layers are {', '.join(LAYERS)}")
        missing = [name for name in self.require if name not in self.layers]
        if missing:
            raise SandboxError(f"the sandbox lacks {', '.join(missing)} on this machine; {INSTALL}")

    def start(self) -> Contained:
        """Start the process, with pipes to its standard input and output. Raises SandboxError."""
        if sys.platform == "win32":
            raise SandboxError("candidates cannot be run apart on Windows; use WSL2")
        try:
            return _spawn(self._started)
        except OSError as error:
            raise SandboxError(f"the sandbox cannot be started: {error}") from None

    def _started(self) -> Contained:
        if bubblewrap.mode():
            return self._wrapped()
        scratch = Path(tempfile.mkdtemp(prefix="slotspec-"))
        try:
            for inside, outside in self.view.shown.items():
                place = scratch / "shown" / inside.lstrip("/")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(outside.resolve())
            work = scratch / "work"
            work.mkdir()
            command = limited(self.command(str(scratch / "shown")), self.limits, processes=False)
            return Contained(*_popen(command, work, ()), scratch=scratch)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise

    def _wrapped(self) -> Contained:
        told, tells = os.pipe()
        wrapping = None
        try:
            wrapping = bubblewrap.Wrapping(self.view, self.limits)
            inner = limited(self.command(""), self.limits, processes=True)
            process, errors = _popen(wrapping.command(inner, tells), Path("/"), (tells, *wrapping.fds))
            os.close(tells)
            tells = -1
            first = bubblewrap.first_process(told)
            contained = Contained(process, errors, first)
            if first is None:
                words = contained.last_words()
                contained.kill()
                raise SandboxError(f"the sandbox cannot be started: {words or 'bubblewrap ended at once'}")
            return contained
        finally:
            if wrapping is not None:
                wrapping.close()
            for fd in (told, tells):
                if fd >= 0:
                    os.close(fd)


class Contained:
    """A running process. `kill` ends it and everything that it started, and returns when nothing is left."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        errors: IO[bytes],
        first: int | None = None,
        scratch: Path | None = None,
    ) -> None:
        self.process, self.errors, self._first, self._scratch = process, errors, first, scratch
        self._gone = False
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None
        self.stdin: IO[bytes] = stdin
        self.stdout: IO[bytes] = stdout

    def memory(self) -> int:
        """Bytes of memory that its processes hold together; 0 where that cannot be known."""
        return resident(self.process.pid)

    def last_words(self) -> str:
        """The last line that it wrote to standard error; a client of ours writes nothing there."""
        size = os.fstat(self.errors.fileno()).st_size
        self.errors.seek(max(0, size - LAST_WORDS))
        lines = self.errors.read(LAST_WORDS).decode(errors="replace").split("\n")
        return next(("".join(filter(str.isprintable, line)) for line in reversed(lines) if line.strip()), "")

    def status(self, seconds: float) -> int | None:
        """Wait for the end, at most so long; the exit status, below 0 for a signal."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self.process.wait(seconds)
            self._gone = True
            return status
        return None

    def kill(self) -> None:
        if self._first is not None:
            # The first process of its namespace takes all others with it, before bubblewrap sees it end.
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
            os.close(self._first)
            self._first = None
            self.status(KILL_SECONDS)
        if not self._gone or self._scratch is not None:
            # Without namespaces its children may still be there, in the group that has its number.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.status(KILL_SECONDS)
        self._gone = True
        for end in (self.stdin, self.stdout, self.errors):
            with contextlib.suppress(OSError):
                end.close()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)


def layers() -> tuple[str, ...]:
    """The names of the layers that are in force on this machine."""
    names = ["limits", "own-session", "output-limit"] if os.name == "posix" else []
    if sys.platform == "linux":
        names.append("memory-total")
        if shutil.which("setpriv") or bubblewrap.mode():
            names.append("dies-with-referee")
        names += bubblewrap.layers()
    return tuple(name for name in LAYERS if name in names)


def _popen(command: Sequence[str], folder: Path, fds: Sequence[int]) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    home = "/tmp" if bubblewrap.mode() else str(folder)
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        MARK: str(os.getpid()),
        "MALLOC_ARENA_MAX": "2",  # each arena reserves 64 MiB of the address space that is limited
    }
    if not bubblewrap.mode() and shutil.which("setpriv"):
        command = ["setpriv", "--pdeathsig", "KILL", "--", *command]
    errors = tempfile.TemporaryFile(prefix="slotspec-")  # noqa: SIM115  nameless, and no larger than the limit on files
    process = subprocess.Popen(
        list(command),
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        cwd=folder,
        env=environment,
        pass_fds=tuple(fds),
        start_new_session=True,
    )
    return process, errors


def strays() -> list[int]:
    """The processes that this referee's candidates have left behind, as far as they can be told by their environment.

    Those that run a candidate now are among them.
    """
    found = []
    mark = f"{MARK}={os.getpid()}".encode()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        with contextlib.suppress(OSError):
            if name.isdigit() and mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                found.append(int(name))
    return found


class _Spawner:
    """A thread that starts processes and never ends: dying with the parent means the parent *thread*."""

    def __init__(self) -> None:
        self.tasks: queue.SimpleQueue[tuple[Callable[[], Contained | None], queue.SimpleQueue[Any]]]
        self.tasks = queue.SimpleQueue()
        self.process = os.getpid()
        threading.Thread(target=self._loop, name="slotspec-spawner", daemon=True).start()

    def _loop(self) -> None:
        while True:
            task, answer = self.tasks.get()
            try:
                answer.put(task())
            except BaseException as error:
                answer.put(error)
            del task, answer

    def do(self, task: Callable[[], Contained]) -> Contained:
        answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.tasks.put((task, answer))
        try:
            result = answer.get()
        except BaseException:
            self.tasks.put((lambda: _discard(answer), queue.SimpleQueue()))
            raise
        if isinstance(result, BaseException):
            raise result
        assert isinstance(result, Contained)
        return result


def _discard(answer: queue.SimpleQueue[Any]) -> None:
    """Kill a process whose start was interrupted, once it has come about."""
    with contextlib.suppress(queue.Empty):
        result = answer.get_nowait()
        if isinstance(result, Contained):
            result.kill()


_spawner: _Spawner | None = None
_spawner_lock = threading.Lock()


def _spawn(task: Callable[[], Contained]) -> Contained:
    global _spawner  # noqa: PLW0603  one a process, and another after a fork
    with _spawner_lock:
        if _spawner is None or _spawner.process != os.getpid():
            _spawner = _Spawner()
    return _spawner.do(task)
