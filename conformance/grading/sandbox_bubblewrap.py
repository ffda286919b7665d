"""The namespaces, by bubblewrap: what a candidate sees, and who it is there."""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from conformance.grading import sandbox_syscalls as syscalls
from conformance.grading.sandbox_limits import Limits

if TYPE_CHECKING:
    from conformance.grading.sandbox import View

Mode = Literal["root", "user", ""]
UNSHARED = ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
CAPABILITIES = ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP")
USER_NAMESPACE = ("--unshare-user", "--disable-userns", "--cap-drop", "ALL")
PACKAGES = ("/*-packages", "/python3*/*-packages", "/lib/python3*/*-packages", "/local/lib/python3*/*-packages")
DEVICES = ("null", "zero", "random", "urandom")
TOOLS = ("prlimit", "setpriv")
FIRST_UID = 2**30
_serial = itertools.count()


@cache
def mode() -> Mode:
    """How namespaces can be had here: as `root`, who then becomes nobody; as a `user`; or not at all.

    Root in a user namespace would keep its exemption from the process limit, hence the two ways.
    """
    if sys.platform != "linux" or not shutil.which("bwrap") or not shutil.which("prlimit"):
        return ""
    if os.geteuid() == 0 and shutil.which("setpriv") and _works("root"):
        return "root"
    return "user" if _works("user") else ""


def layers() -> list[str]:
    """The layers that the namespaces bring."""
    if not mode():
        return []
    names = ["own-files", "own-processes", "own-ipc", "no-network", "no-privileges"]
    names += ["process-limit"] if mode() == "root" or os.geteuid() != 0 else []
    return names + ["syscall-filter"] * (syscalls.program() is not None)


def first_process(told: int) -> int | None:
    """Wait until bubblewrap says who is the first process of the namespace; a pidfd, or nothing if it died."""
    said = b""
    while b"}" not in said:
        if not select.select([told], [], [], 10)[0]:
            return None
        more = os.read(told, 4096)
        if not more:
            return None
        said += more
    with contextlib.suppress(OSError, ValueError, IndexError):
        return os.pidfd_open(int(said.split(b'"child-pid":')[1].strip(b" \n}").split(b",")[0]))
    return None


class Wrapping:
    """One command line of bubblewrap, and the descriptors that go with it. `close` them when it has started."""

    def __init__(self, view: View, limits: Limits, how: Mode = "") -> None:
        self.how = how or mode()
        self.fds: list[int] = []
        self._made: set[str] = {"/"}
        self.arguments = ["bwrap", *UNSHARED, "--die-with-parent", "--new-session", "--hostname", "sandbox"]
        self.arguments += CAPABILITIES if self.how == "root" else USER_NAMESPACE
        try:
            self._system(view)
            self._own(view, limits)
        except BaseException:
            self.close()
            raise

    def command(self, inner: Sequence[str], info_fd: int | None = None) -> list[str]:
        """Put it before a command; for root, the way down to nobody comes after the limits, which start it."""
        arguments = [*self.arguments, "--info-fd", str(info_fd)] if info_fd is not None else self.arguments
        split = inner.index("--") + 1 if self.how == "root" else 0
        return [*arguments, "--", *inner[:split], *(_nobody() if split else []), *inner[split:]]

    def close(self) -> None:
        while self.fds:
            os.close(self.fds.pop())

    def _system(self, view: View) -> None:
        folders = ["/usr"] if view.system else ["/usr/lib", "/usr/lib64", "/usr/lib32", *_tools()]
        folders += _interpreter() if view.python else []
        for folder in dict.fromkeys(folders):
            self._bind(folder, folder)
        for folder in ("/lib", "/lib64", "/lib32", *(["/bin"] if view.system else [])):
            if os.path.islink(folder):
                self.arguments += ["--symlink", os.readlink(folder), folder]
            else:
                self._bind(folder, folder)
        self._bind("/etc/ld.so.cache", "/etc/ld.so.cache")
        for folder in dict.fromkeys(folders):
            packages = [path for pattern in PACKAGES for path in glob.glob(folder + pattern)]
            self._hide([*packages, *map(str, view.hidden)], folder, folder)
        for device in DEVICES:
            self._bind(f"/dev/{device}", f"/dev/{device}", "--dev-bind")
        self.arguments += ["--symlink", "/tmp", "/dev/shm"] + (["--proc", "/proc"] if view.system else [])

    def _own(self, view: View, limits: Limits) -> None:
        self.arguments += ["--perms", "1777", "--size", str(limits.scratch), "--tmpfs", "/tmp"]
        for inside, outside in view.shown.items():
            real = outside.resolve()
            if real.is_file():
                # A copy: the file itself may be closed to the user that the candidate becomes.
                self._parents(inside)
                self.fds.append(os.open(real, os.O_RDONLY))
                self.arguments += ["--perms", "0444", "--ro-bind-data", str(self.fds[-1]), inside]
            else:
                self._bind(str(real), inside)
                self._hide(map(str, view.hidden), str(real), inside)
        filter_program = syscalls.program()
        if filter_program is not None:
            self.fds.append(_held(filter_program))
            self.arguments += ["--seccomp", str(self.fds[-1])]
        self.arguments += ["--remount-ro", "/", "--chdir", "/tmp"]

    def _bind(self, outside: str, inside: str, how: str = "--ro-bind") -> None:
        if os.path.exists(outside):
            self._parents(inside)
            self.arguments += [how, outside, inside]

    def _parents(self, inside: str) -> None:
        """Make the folders above, open to all; bubblewrap itself would make them for root alone."""
        for folder in reversed(Path(inside).parents):
            if str(folder) not in self._made:
                self._made.add(str(folder))
                self.arguments += ["--dir", str(folder)]

    def _hide(self, paths: Iterable[str], outside: str, inside: str) -> None:
        """Put empty folders over what should stay out of sight: installed packages, and the suite."""
        for path in dict.fromkeys(paths):
            if Path(outside) in Path(path).parents and os.path.isdir(path):
                place = os.path.join(inside, os.path.relpath(path, outside))
                self.arguments += ["--tmpfs", place, "--remount-ro", place]


def _held(data: bytes) -> int:
    fd = os.memfd_create("slotspec")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _nobody() -> list[str]:
    uid = str(_uid())
    drop = ["--reuid", uid, "--regid", uid, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    return ["setpriv", *drop, "--no-new-privs", "--"]


def _uid() -> int:
    """Choose a user id that no other worker has, on a machine where ids so high mean nobody."""
    wanted = FIRST_UID + (os.getpid() << 8 | next(_serial) & 0xFF)
    first, size = _mapped()
    return wanted if wanted < first + size else first + size - 2 - wanted % min(size // 2, 30_000)


@cache
def _mapped() -> tuple[int, int]:
    with contextlib.suppress(OSError, ValueError):
        spans = [tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
        return max(((inside, size) for inside, _, size in spans), key=lambda span: span[1])
    return 0, 2**32 - 1


def _tools() -> list[str]:
    return [path for tool in TOOLS if (path := shutil.which(tool))]


@cache
def _interpreter() -> list[str]:
    prefix, executable = os.path.realpath(sys.base_prefix), interpreter()
    if prefix in ("/usr", "/usr/local"):
        return [executable, f"{prefix}/lib"]
    return [prefix] if executable.startswith(prefix + "/") else [prefix, executable]


@cache
def interpreter() -> str:
    """The path of the interpreter itself, past every link and virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def _works(how: Mode) -> bool:
    from conformance.grading.sandbox import View

    wrapping = Wrapping(View({}), Limits(), how)
    line = wrapping.command(["prlimit", "--core=0:0", "--", interpreter(), "-I", "-S", "-c", ""])
    try:
        return subprocess.run(line, capture_output=True, timeout=20, check=False, pass_fds=wrapping.fds).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        wrapping.close()
