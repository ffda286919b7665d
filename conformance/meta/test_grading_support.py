"""What the tests of the grader share: candidates, and quick ways to grade them. It has no test itself."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import variants
import variants.flawed
from conformance.grading import grade
from conformance.grading.isolated import IsolatedImplementation
from conformance.grading.schema import (
    Verdict,
)
from conformance.targets import LocalImplementation, load
from conformance.workloads import Session
from reference.vocabulary import Dialect

HOME = Path(next(iter(variants.__path__)))
HONEST = [path for path in sorted(HOME.glob("[a-z]*.py")) if "\ndef generate(" in path.read_text()]
FLAWED = Path(next(iter(variants.flawed.__path__)))


class InProcess:
    """An implementation in this process, for what has nothing to do with the sandbox; it hides its declaration."""

    layers = ("none",)
    last_end = None

    def __init__(self, target: str, dialect: Dialect | None = None, *, hide: bool = False, **_: Any) -> None:
        self.inner: LocalImplementation = load(target, dialect)
        self.name = self.inner.name
        self.dialect = (dialect or Dialect()) if hide else self.inner.dialect
        self.declared = {} if hide else dict(vars(self.inner.dialect))
        self.hide = hide

    def run(self, session: Session) -> Any:
        return self.inner.run(session)

    def fresh(self) -> InProcess:
        other = InProcess.__new__(InProcess)
        other.inner, other.name, other.dialect = self.inner.fresh(), self.name, self.dialect
        return other

    def close(self) -> None:
        pass


quickly = partial(grade, effort="quick", seed=1, factory=InProcess)
guess = partial(grade, effort="quick", seed=1, factory=partial(InProcess, hide=True))
hurried = partial(IsolatedImplementation, seconds=0.4)


@cache
def flawed(name: str) -> Verdict:
    return quickly(FLAWED / f"{name}.py")


@cache
def attacked(source: str) -> Verdict:
    return grade(source, effort="quick", seed=1, factory=hurried)


def charged(verdict: Verdict, level: str = "MUST") -> set[str]:
    return {report.name for report in verdict.invariants if report.charge == "charged" and report.level == level}


SAMPLE = [
    "static_batching",
    "extra_slot",
    "lifo_queue",
    "off_by_one_limit_fewer",
    "off_by_one_limit_more",
    "replies_reversed",
    "stop_never_checked",
    "zero_holds_slot",
    "served_twice",
    "exception_swallowed",
    "requests_consumed",
    "state_between_runs",
    "empty_call_at_end",
    "pad_token_counted",
    "prompt_counts",
    "last_finisher_missing",
    "stale_buffer_after_refill",
    "mutable_default",
    "round_robin",
    "output_includes_prompt",
    "no_length_check",
    "live_buffers",
    "accepts_zero_slots",
    "stop_iteration_ends_quietly",
]
# What the small scope cannot show: a candidate is wrong beyond some length, size or value only.
BEYOND = [
    "ids_in_lower_case",
    "preempts_every_8",
    "recursion_per_step",
    "sixteen_request_limit",
    "sixteen_slot_cap",
    "sorted_by_id",
    "thousand_call_guard",
    "window_of_eight",
]


EXITS = "import sys\ndef generate(model, requests, num_slots, stop_token):\n    sys.exit(0)\n"
DIES = "import os\ndef generate(model, requests, num_slots, stop_token):\n    os._exit(0)\n"
LOOPS = "def generate(model, requests, num_slots, stop_token):\n    while True:\n        pass\n"
BROKEN = "def generate(model, requests, num_slots, stop_token)\n    return {}\n"
EQUAL = """
class Anything(dict):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def items(self): return []
def generate(model, requests, num_slots, stop_token):
    return Anything()
"""
FORGES = """
import os
def generate(model, requests, num_slots, stop_token):
    for fd in range(3, 20):
        try:
            os.write(fd, b'["return",0,[],"","",""]\\n' * 8)
        except OSError:
            pass
    return {}
"""
RIGHT = (HONEST[0].with_name("slot_array.py")).read_text().replace("def generate(", "def right(")
LATE = f"""{RIGHT}
RUNS = []
def generate(model, requests, num_slots, stop_token):
    RUNS.append(1)
    out = right(model, requests, num_slots, stop_token)
    return {{}} if len(RUNS) > 150 else out
"""
WAVERS = f"""{RIGHT}
import os
def generate(model, requests, num_slots, stop_token):
    out = right(model, requests, num_slots, stop_token)
    return {{}} if os.urandom(1)[0] < 3 else out
"""
CHATTERS = f"""{RIGHT}
import os, threading
def generate(model, requests, num_slots, stop_token):
    out = right(model, requests, num_slots, stop_token)
    threading.Timer(0.001, lambda: os.write(11, b"[]\\n")).start()
    return out
"""
