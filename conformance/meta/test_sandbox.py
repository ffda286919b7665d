"""The sandbox: every layer is seen to bite, and nothing is left behind, however it ends."""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.expected import matches
from conformance.grading import sandbox_bubblewrap as bubblewrap
from conformance.grading.isolated import IsolatedImplementation, LoadFailed
from conformance.grading.sandbox import CONTAINING, INSTALL, LAYERS, MARK, SandboxError, layers, strays
from conformance.grading.sandbox_limits import MIB, Limits
from conformance.history import Raised, Unended
from conformance.workloads import Session, Workload
from reference.vocabulary import Dialect

ROOT = Path(__file__).resolve().parents[2]
WORKLOAD = Workload.of([("a", [1], 2, [5, 6])], num_slots=1, stop_token=0)
HONEST = str(ROOT / "variants" / "slot_array.py")


@pytest.fixture(autouse=True)
def _contained() -> None:
    """Skip where the namespaces cannot be had; but on a machine that should have them, fail."""
    if not bubblewrap.mode():
        assert not os.environ.get("CI"), f"bubblewrap is missing: {INSTALL}"
        pytest.skip(INSTALL)


Probe = Callable[..., str]


@pytest.fixture
def probe(tmp_path: Path) -> Probe:
    """Run a piece of code inside, as the body of a function, and hear what it returns."""

    def ask(code: str, **options: Any) -> str:
        body = textwrap.indent(textwrap.dedent(code), "    ")
        path = tmp_path / "probe.py"
        path.write_text(f"def look():\n{body}\n\ndef generate(*a):\n    raise RuntimeError(str(look()))\n")
        options.setdefault("seconds", 10)
        with IsolatedImplementation(str(path), **options) as isolated:
            outcome = isolated.run(Session((WORKLOAD,)))[0].outcome
        assert not strays()
        return outcome.message if isinstance(outcome, Raised) else getattr(outcome, "why", "returned")

    return ask


def tried(code: str) -> str:
    """Code that tries something, and returns the error it meets, or `done`."""
    body = textwrap.indent(textwrap.dedent(code), "    ")
    return f"try:\n{body}\nexcept BaseException as error:\n    return type(error).__name__\nreturn 'done'"


# layer: code and what it says inside
BITES: list[tuple[str, str, str]] = [
    ("limits", tried("bytearray(2**30)"), "MemoryError"),
    ("limits", tried("open('big', 'wb').write(bytes(17 * 2**20))"), "OSError"),
    ("limits", tried("import os\nfds = [os.dup(0) for _ in range(200)]"), "OSError"),
    ("limits", "import resource\nreturn resource.getrlimit(resource.RLIMIT_CORE)", "(0, 0)"),
    ("limits", tried("import resource\nresource.setrlimit(resource.RLIMIT_DATA, (2**40, 2**40))"), "ValueError"),
    ("own-session", tried("import os\nos.open('/dev/tty', os.O_RDWR)"), "FileNotFoundError"),
    ("own-session", "import os\nreturn os.getsid(0) < 10 and os.getpgid(0) < 10", "True"),
    (
        "output-limit",
        "import os\nfor _ in range(100):\n    print('x' * 10**6)\n    os.write(2, b'x' * 10**6)\nreturn 'lost'",
        "lost",
    ),
    (
        "output-limit",
        "import os\nreturn [os.fstat(fd).st_rdev == os.stat('/dev/null').st_rdev for fd in (0, 1, 2)]",
        "[True, True, True]",
    ),
    ("own-files", f"import os\nreturn os.path.exists({str(ROOT / 'conformance')!r})", "False"),
    (
        "own-files",
        "import os\nreturn sorted(set(os.listdir('/')) - {'lib32', 'root', 'opt', 'home', 'bin'})",
        "['candidate', 'dev', 'etc', 'lib', 'lib64', 'slotspec', 'tmp', 'usr']",
    ),
    ("own-files", "import os\nreturn os.listdir('/slotspec/nouns/reference')", "['vocabulary.py', '__init__.py']"),
    ("own-files", "import os\nreturn os.getcwd(), os.environ['HOME'], os.listdir('.')", "('/tmp', '/tmp', [])"),
    ("own-files", "import os\nreturn sorted(os.listdir('/dev'))", "['null', 'random', 'shm', 'urandom', 'zero']"),
    ("own-files", tried("open('/x', 'w')"), "OSError"),
    ("own-files", tried("open('/dev/x', 'w')"), "OSError"),
    ("own-files", tried("open(__file__, 'r+')"), "OSError"),
    ("own-files", tried("import os\nopen(os.__file__, 'r+')"), "OSError"),
    ("own-files", tried("for n in range(9):\n    open(f'f{n}', 'wb').write(bytes(4 * 2**20))"), "OSError"),
    ("own-processes", "import os\nreturn os.getpid() < 10 and not os.path.exists('/proc/1')", "True"),
    ("own-processes", tried(f"import os\nos.kill({os.getpid()}, 0)"), "ProcessLookupError"),
    ("own-ipc", "import socket\nreturn socket.gethostname()", "sandbox"),
    ("no-network", tried("import socket\nsocket.create_connection(('127.0.0.1', 9), 1)"), "OSError"),
    ("no-network", tried("import socket\nsocket.if_nameindex()"), "OSError"),
    ("no-privileges", tried("import os\nos.setuid(0)"), "PermissionError"),
    ("no-privileges", "import ctypes\nreturn ctypes.CDLL(None).prctl(39, 0, 0, 0, 0)", "1"),  # PR_GET_NO_NEW_PRIVS
    (
        "no-privileges",
        "import ctypes\nreturn [c for c in range(40) if ctypes.CDLL(None).prctl(23, c, 0, 0, 0)]",
        "[]",
    ),
    ("no-privileges", tried("import os\nos.chown('/tmp', 0, 0)"), "PermissionError"),
    ("syscall-filter", tried("import os\nos.memfd_create('x')"), "PermissionError"),
    ("syscall-filter", "import ctypes\nreturn ctypes.CDLL(None).unshare(0x10000000)", "-1"),
    ("syscall-filter", tried("import socket\nsocket.socket(socket.AF_VSOCK).close()"), "OSError"),
    ("syscall-filter", "import ctypes\nreturn ctypes.CDLL(None).ptrace(0, 0, 0, 0)", "-1"),  # PTRACE_TRACEME
]


@pytest.mark.parametrize(("layer", "code", "expected"), BITES, ids=[f"{b[0]}-{n}" for n, b in enumerate(BITES)])
def test_a_layer_bites(layer: str, code: str, expected: str, probe: Probe) -> None:
    """What is tried inside meets the layer."""
    if layer not in layers():
        pytest.skip(f"{layer} is not in force here")
    said = probe(code)
    # Which error it is differs between the two ways to the namespaces; that it is one does not.
    errors = ("OSError", "PermissionError", "FileNotFoundError")
    assert said == expected or (expected == "OSError" and said in errors) or sorted(said) == sorted(expected)


def test_every_layer_is_seen_to_bite() -> None:
    """The list above and the tests below leave none out."""
    below = {"process-limit", "memory-total", "dies-with-referee"}
    assert {layer for layer, _, _ in BITES} | below == set(LAYERS) == set(CONTAINING)
    assert len(BITES) == 32


def test_outside_the_same_code_meets_nothing() -> None:
    """The probes prove something only if they come out differently here, where there is no sandbox."""
    same = []
    for layer, code, expected in BITES:
        if any(
            word in code
            for word in ("bytearray", "setrlimit", "open(", "dup(", "write(", "setuid", "chown", "unshare", "ptrace")
        ):
            continue
        space: dict[str, Any] = {}
        exec(f"def look():\n{textwrap.indent(code, '    ')}", space)
        with_errors = ["OSError"] if expected == "OSError" else []
        try:
            said = str(space["look"]())
        except OSError:
            said = ""
        if said == expected or said in with_errors:
            same.append(layer)
    assert same == []


def test_cpu_time_is_limited(probe: Probe) -> None:
    """A process that burns more than its seconds is killed."""
    assert probe("while True: pass", limits=Limits(cpu=1)).startswith("it was killed by signal")


def test_processes_are_limited_threads_included(probe: Probe) -> None:
    """Neither forks nor threads go beyond the limit, and honest numbers of threads are free."""
    if "process-limit" not in layers():
        pytest.skip("process-limit is not in force here")
    forks = """
        import os, time
        for n in range(300):
            try:
                if os.fork() == 0:
                    time.sleep(60)
                    os._exit(0)
            except OSError:
                return n
        return n
    """
    assert int(probe(forks)) < Limits().processes
    threads = """
        import threading
        gate, n = threading.Event(), 0
        try:
            for n in range(300):
                threading.Thread(target=gate.wait, daemon=True).start()
        except RuntimeError:
            pass
        gate.set()
        return n
    """
    assert 40 < int(probe(threads)) < Limits().processes


def test_memory_is_watched_over_all_processes(probe: Probe) -> None:
    """Each within its own limit, they are still too many."""
    code = """
        import os, time
        for _ in range(6):
            if os.fork() == 0:
                block = b"x" * (30 * 2**20)
                time.sleep(60)
        time.sleep(60)
    """
    said = probe(code, limits=Limits(memory_total=100 * MIB))
    assert said == "its processes held more than 100 MiB together"


REFEREE = """
import sys, time
from conformance.grading.isolated import IsolatedImplementation
from conformance.workloads import Session, Workload
held = [IsolatedImplementation(sys.argv[1], seconds=60) for _ in range(2)]
print("ready", flush=True)
held[0].run(Session((Workload.of([("a", [1], 2, [5, 6])], num_slots=1, stop_token=0),)))
"""
STUBBORN = """
import os, signal, time
def generate(*a):
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            for n in (1, 2, 15):
                signal.signal(n, signal.SIG_IGN)
            time.sleep(60)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_the_referee(number: int, tmp_path: Path) -> None:
    """However the referee is ended in the middle of a run, no process of the candidate's is left."""
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    command = [sys.executable, "-c", REFEREE, str(tmp_path / "stubborn.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as referee:
        assert referee.stdout is not None
        assert referee.stdout.readline() == b"ready\n"
        time.sleep(0.3)
        assert len(marked(referee.pid)) > 4
        referee.send_signal(number)
        referee.wait(10)
    until = time.monotonic() + 10
    while marked(referee.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert marked(referee.pid) == []


def marked(referee: int) -> list[str]:
    """The processes whose environment names a referee."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            if f"{MARK}={referee}".encode() in Path(path).read_bytes().split(b"\0"):
                found.append(path)
        except OSError:
            continue
    return found


def test_closing_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    """Not even of one that forks, leaves the session, and ignores every signal it can."""
    before = set(os.listdir(tempfile.gettempdir()))
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    isolated = IsolatedImplementation(str(tmp_path / "stubborn.py"), seconds=0.5)
    assert strays()
    (run,) = isolated.run(Session((WORKLOAD,)))
    assert run.outcome == Unended("it had not returned after 0.5 seconds")
    isolated.close()
    assert strays() == []
    new = set(os.listdir(tempfile.gettempdir())) - before
    assert not [name for name in new if name.startswith("slotspec")]


def test_letting_go_of_it_ends_it() -> None:
    """A handle that nobody holds any more holds no process."""
    isolated = IsolatedImplementation(HONEST)
    assert strays()
    isolated.run_fresh(Session((WORKLOAD,)))
    del isolated
    assert strays() == []


def test_the_other_way_to_the_namespaces(monkeypatch: pytest.MonkeyPatch, probe: Probe) -> None:
    """Where root goes without a user namespace, a user goes with one, and the suite is as far away."""
    if not bubblewrap._works("user"):
        pytest.skip("user namespaces are not allowed here")
    monkeypatch.setattr(bubblewrap, "mode", lambda: "user")
    assert "own-files" in layers()
    assert probe(f"import os\nreturn os.path.exists({str(ROOT / 'conformance')!r})") == "False"
    assert probe(tried("open('/x', 'w')")) != "done"


def test_without_namespaces_the_honest_are_still_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layers say what is missing, the scratch folder is removed, and no process is left."""
    monkeypatch.setattr(bubblewrap, "mode", lambda: "")
    before = set(os.listdir(tempfile.gettempdir()))
    with IsolatedImplementation(HONEST) as isolated:
        assert set(CONTAINING) - set(isolated.layers) >= {"own-files", "own-processes", "no-network", "process-limit"}
        (run,) = isolated.run(Session((WORKLOAD,)))
        assert matches(run, Dialect())
        assert isolated.run_fresh(Session((WORKLOAD,))) == [run]
    assert strays() == []
    assert not [n for n in set(os.listdir(tempfile.gettempdir())) - before if n.startswith("slotspec-")]


def test_a_layer_can_be_insisted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is named in one line, with what to install; an unknown name is told from a missing one."""
    IsolatedImplementation(HONEST, require=layers()).close()
    with pytest.raises(SandboxError, match="no sandbox layer 'moat'; the layers are limits, own-session"):
        IsolatedImplementation(HONEST, require=["moat"])
    monkeypatch.setattr(bubblewrap, "mode", lambda: "")
    with pytest.raises(SandboxError, match=r"lacks own-files, no-network on this machine; install bubblewrap"):
        IsolatedImplementation(HONEST, require=["limits", "own-files", "no-network"])


def test_a_file_that_only_its_owner_may_read_is_run(tmp_path: Path) -> None:
    """Inside, the candidate is another user, who gets a copy."""
    path = tmp_path / "private.py"
    path.write_text(Path(HONEST).read_text())
    path.chmod(0o600)
    tmp_path.chmod(0o700)
    with IsolatedImplementation(str(path)) as isolated:
        assert matches(isolated.run(Session((WORKLOAD,)))[0], Dialect())


def test_a_package_is_shown_whole_and_the_suite_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dotted target sees its own package and the installed ones, and neither the suite nor its reference."""
    package = tmp_path / "engine_under_test"
    package.mkdir()
    (package / "__init__.py").write_text("from .loop import run\n")
    (package / "loop.py").write_text(
        "import importlib.util, msgspec\n"
        "def run(*a):\n"
        "    names = ('conformance.expected', 'reference.generate', 'variants.slot_array', 'engine_under_test.loop')\n"
        "    raise RuntimeError(str([can(name) for name in names]))\n"
        "def can(name):\n"
        "    try:\n        return importlib.util.find_spec(name) is not None\n"
        "    except ImportError:\n        return False\n"
    )
    monkeypatch.chdir(tmp_path)
    with IsolatedImplementation("engine_under_test:run") as isolated:
        outcome = isolated.run(Session((WORKLOAD,)))[0].outcome
    assert isinstance(outcome, Raised)
    assert outcome.message == "[False, False, False, True]"


def test_installed_packages_are_shown_on_request(tmp_path: Path) -> None:
    """A file sees the standard library alone, unless it is let see more."""
    path = tmp_path / "needy.py"
    path.write_text("import msgspec\n" + Path(HONEST).read_text().replace("from __future__ import annotations", ""))
    with pytest.raises(LoadFailed, match="No module named 'msgspec'"):
        IsolatedImplementation(str(path))
    IsolatedImplementation(str(path), packages=True).close()


def test_a_program_that_dies_at_once_says_its_last_words() -> None:
    """Standard error is kept, to a limit, for whoever has to find out why."""
    with pytest.raises(LoadFailed, match=r"it exited with status 1: .*no-such-thing"):
        IsolatedImplementation(f"exec:{sys.executable} -c 'import sys; sys.exit(\"no-such-thing\")'")
