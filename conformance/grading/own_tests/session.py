"""The process of the tests: pytest is imported once, and each implementation is faced by a fork of its own.

The file of tests is loaded in the forks only, so that nothing which it does outlives one. After a
fork its processes are ended and its files removed. That a fork has ended is said with a secret which
it cannot know: it was drawn after the fork began, and only its digest was told.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import hashlib
import importlib.util
import json
import os
import random
import shutil
import signal
import sys
import warnings
from typing import Any

from conformance.grading.client import TEXT, VERSION, Wire, kind, pipes, text_of
from conformance.grading.own_tests import near

OPTIONS = ("-x", "-q", "-s", "--tb=no", "--noconftest", "--import-mode=importlib", "--strict-markers")
LEFT_OUT = ("cacheprovider", "faulthandler", "junitxml", "pastebin", "debugging", "stepwise", "setuponly", "setupplan")
NOTHING = "def test_nothing():\n    assert [1] == [1]\n"
DRAWING = f"""\
from hypothesis import given, settings, strategies

@settings(max_examples=3)
@given(strategies.text())
{NOTHING.replace("()", "(text)")}"""  # its tables of characters take seconds to build
DRAWN = (b"text(", b"characters(", b"from_regex(")
OUTCOMES = {0: "passed", 1: "failed", 4: "invalid", 5: "invalid"}


def declared(source: bytes, name: str) -> dict[str, str]:
    """Read the dialect that a file of tests states, without running it. Raises ValueError, SyntaxError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source, name)
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "DIALECT" for target in targets):
            value = getattr(node, "value", None)
            try:
                chosen = ast.literal_eval(value) if value is not None else None
            except ValueError:
                chosen = None
            if not isinstance(chosen, dict) or not all(
                isinstance(part, str) for pair in chosen.items() for part in pair
            ):
                raise ValueError(f"line {node.lineno}: DIALECT should be a plain dict of texts")
            return chosen
    return {}


class Plugin:
    """Tells the referee which test runs, and what became of it."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.passed, self.failed, self.why, self.broken = 0, "", "", ""
        self._error, self._ended_by = "", "pytest itself"

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.say("test", clean(nodeid))

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.broken:
            lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
            self.broken = clean(lines[0][1:] if lines else "collecting it failed")

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        if call.excinfo is not None:
            error = call.excinfo.value
            self._error = clean(f"{kind(error)}: {text_of(error)}".removesuffix(": "))

    def pytest_internalerror(self, excinfo: Any) -> None:
        self._ended_by = f"an error in pytest: {kind(excinfo.value)}"

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        self._ended_by = f"{kind(excinfo.value)}"

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = clean(report.nodeid)
            self.why = self._error or clean(str(report.longrepr))
        self.passed += report.passed and report.when == "call"

    def say(self, *message: Any) -> None:
        self._wire.send(json.dumps(message) + "\n")

    def end(self, status: int) -> None:
        """Say what it comes to. An error in a fixture is a failure of the test that asked for it."""
        outcome = OUTCOMES.get(status, "crashed")
        why = self.why if outcome == "failed" else ""
        if self.broken:
            outcome, why = "invalid", self.broken
        elif outcome == "invalid":
            why = "there is no test in it"
        elif outcome == "crashed":
            why = f"the tests were ended by {self._ended_by}"
        elif outcome == "passed" and not self.passed:
            outcome, why = "invalid", "every test in it is skipped"
        self.say("result", outcome, self.passed, self.failed if outcome == "failed" else "", why)


def clean(text: str) -> str:
    return "".join(filter(str.isprintable, " ".join(text.split())))[:TEXT]


def warm(source: bytes) -> None:
    """Import what the forks need, and run pytest once on nothing."""
    os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HYPOTHESIS_NO_PLUGINS": "1"}
    sys.dont_write_bytecode = True
    import pytest

    if b"hypothesis" in source and importlib.util.find_spec("hypothesis"):
        import hypothesis
        from hypothesis import Phase

        phases = [Phase.explicit, Phase.generate, Phase.target]
        found = {"derandomize": True, "database": None, "deadline": None, "phases": phases}
        hypothesis.settings.register_profile("slotspec", **found)  # type: ignore[arg-type]
        hypothesis.settings.load_profile("slotspec")
    nothing = os.path.join(scratch(), "test_nothing.py")
    with open(nothing, "w") as file:
        file.write(DRAWING if "hypothesis" in sys.modules and any(word in source for word in DRAWN) else NOTHING)
    pytest.main([nothing, *options()])
    wipe()


def options() -> list[str]:
    plugins = ["_hypothesis_pytestplugin"] if "hypothesis" in sys.modules else []
    return [*OPTIONS, *(f"-pno:{name}" for name in LEFT_OUT), *(f"-p{name}" for name in plugins)]


def face(wire: Wire, place: str, module: str, seed: int) -> None:
    """Run the tests against one implementation, in a fork."""
    import pytest

    near.install(module, wire)
    random.seed(seed)
    plugin = Plugin(wire)
    status = pytest.main([place, f"--rootdir={os.path.dirname(place)}", *options()], plugins=[plugin])
    plugin.end(int(status))


def scratch() -> str:
    """The folder that the sandbox gives; the one for temporary files, which a fork cannot have changed here."""
    return os.environ["TMPDIR"]


def wipe() -> bool:
    """Remove what a fork has left; whether all is gone."""
    for name in os.listdir(scratch()):
        path = os.path.join(scratch(), name)
        with contextlib.suppress(OSError):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)
    return not os.listdir(scratch())


def forked(wire: Wire, *arguments: Any) -> None:
    """Let a fork face an implementation, and clear up after it."""
    alone = arguments[0]
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(writes)
        os.read(reads, 1)
        os.close(reads)
        try:
            face(wire, *arguments[1:])
        finally:
            os._exit(0)
    wire.buffer = b""
    secret = os.urandom(16)
    wire.send(json.dumps(["forked", hashlib.sha256(secret).hexdigest()]) + "\n")
    os.close(writes)
    os.close(reads)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1 if alone else -child, signal.SIGKILL)
    for fd in (wire.source, wire.sink):
        os.set_blocking(fd, True)  # the pipes are the fork's, too
    wire.send(json.dumps(["ended", status, secret.hex(), wipe() if alone else True]) + "\n")


def whole(wire: Wire) -> Any:
    """Wait for a message, past what a fork that ended has left half read."""
    while True:
        with contextlib.suppress(ValueError, StopIteration):
            return wire.line()


def main(arguments: list[str]) -> None:
    """Serve one file of tests: its path, the module it imports, a seed, and whether no process but ours is here."""
    place, module, seed, alone = arguments
    wire = pipes()
    sys.set_int_max_str_digits(0)
    error = ""
    dialect: dict[str, str] = {}
    try:
        with open(place, "rb") as file:
            source = file.read()
        dialect = declared(source, place)
        warm(source)
    except (ValueError, SyntaxError, RecursionError, MemoryError) as problem:
        where = f"line {problem.lineno}: " if isinstance(problem, SyntaxError) and problem.lineno else ""
        error = where + (problem.msg if isinstance(problem, SyntaxError) else text_of(problem) or kind(problem))
    pairs = [[axis[:TEXT], value[:TEXT]] for axis, value in dialect.items()][:16]
    wire.send(json.dumps(["hello", VERSION, pairs, [], [], error[:TEXT]]) + "\n")
    gc.freeze()
    while not error:
        if whole(wire) == ["fork"]:
            forked(wire, alone == "alone", place, module, int(seed))
