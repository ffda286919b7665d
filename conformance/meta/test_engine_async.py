"""The tests of `AsyncEngine` have teeth: mutants of the reference that they kill."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import reference.async_engine
from conformance import test_async_engine as suite

SOURCE = Path(reference.async_engine.__file__).read_text(encoding="utf-8")
TESTS = [test for name, test in vars(suite).items() if name.startswith("test_")]
MUTANTS = {
    "nobody who leaves is noticed": ("        self._engine.abort_request(number)\n\n", "\n"),
    "readers share one queue": (
        "asyncio.Queue[StepOutput | BaseException] = asyncio.Queue()\n        self._leave_note",
        "asyncio.Queue[StepOutput | BaseException] = next(iter(self._readers.values()), asyncio.Queue())\n"
        "        self._leave_note",
    ),
    "an idle engine is not started again": (
        "if self._serving is None or self._serving.done():",
        "if self._serving is None:",
    ),
    "a failure reaches no reader": ("                reader.put_nowait(outputs)\n", ""),
    "submissions are known by the caller's ids": (
        "        number = str(next(self._numbers))\n",
        "        number = request.request_id\n",
    ),
    "the engine waits for a reader that is slow": (
        "                self._readers[output.request_id].put_nowait(output)\n",
        "                if self._readers[output.request_id].qsize() < 5:\n"
        "                    self._readers[output.request_id].put_nowait(output)\n",
    ),
    "the dialect is forgotten": ("stop_token, dialect=dialect)", "stop_token)"),
}


def failures(source: str) -> list[str]:
    """The names of the tests that a changed reference fails."""
    module = ModuleType("changed_async_engine")
    exec(compile(source, module.__name__, "exec"), module.__dict__)
    failed = []
    for test in TESTS:
        given: dict[str, Any] = {"make": module.AsyncEngine, "model": suite.Counting()}
        try:
            test(**{name: given[name] for name in inspect.signature(test).parameters})
        except Exception:
            failed.append(test.__name__)
    return failed


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_killed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some test fails, where the watchdog takes the place of patience."""
    monkeypatch.setattr(suite, "WATCHDOG", 0.5)
    monkeypatch.setattr(suite, "MOST", 800)
    find, put = MUTANTS[name]
    assert SOURCE.count(find) == 1
    assert failures(SOURCE.replace(find, put)) != []


def test_the_reference_fails_none() -> None:
    """Otherwise the mutants would prove nothing."""
    assert failures(SOURCE) == []
