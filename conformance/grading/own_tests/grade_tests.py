"""Grade one file of tests: load it, let it face the line-up, pronounce."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from conformance.grading.grade_one import digest
from conformance.grading.own_tests.examine import Examination, Tests, Unusable
from conformance.grading.own_tests.lineup import Member, lineup
from conformance.grading.own_tests.verdict import (
    SCHEMA_VERSION,
    Described,
    Faced,
    GradedTests,
    by_invariant,
    conclusion,
    faced,
    score,
    share,
)
from conformance.grading.sandbox import CONTAINING, layers
from conformance.grading.schema import Sandbox
from conformance.grading.verdict import slotspec_version
from reference.vocabulary import Dialect

SECONDS = 20.0
Choose = Callable[[Dialect, Path], list[Member]]
Told = Callable[[int, int, Faced], None]


def grade_tests(
    path: Path,
    *,
    module: str = "solution",
    seed: int | None = None,
    seconds: float = SECONDS,
    jobs: int = 1,
    choose: Choose = lineup,
    told: Told = lambda done, total, one: None,
) -> GradedTests:
    """Run a file of tests over every implementation of the dialect that it states, and return the verdict.

    `module` is what the tests import `generate` from; `seconds` limits them for each implementation;
    `told` hears of each as it comes, with how many are done and of how many. Whatever the tests do is
    in the verdict, and raises nothing. Raises OwnFault and SandboxError for what is our doing.
    """
    started = perf_counter()
    tests = Tests(path, module, secrets.randbits(32) if seed is None else seed)
    dialect, found, stopped = Dialect(), list[Faced](), ""
    try:
        first = tests.start()
        dialect = tests.stated(first)
        with tempfile.TemporaryDirectory(prefix="slotspec-") as folder:
            members = choose(dialect, Path(folder))
            examination = Examination(tests, first, dialect, members, jobs=jobs, seconds=seconds)
            with contextlib.closing(examination):
                for member, outcome in examination:
                    found.append(faced(member, outcome))
                    told(len(found), len(members), found[-1])
        stopped = examination.stopped
        verdict, reason = conclusion(found, stopped)
    except Unusable as error:
        verdict, reason, found = "invalid", str(error), []
    found.sort(key=lambda one: one.name)
    must = share(found, "flawed")
    in_force = layers()
    return GradedTests(
        schema_version=SCHEMA_VERSION,
        slotspec_version=slotspec_version(),
        tests=Described(str(path), module, digest(str(path))),
        verdict=verdict,
        reason=reason,
        dialect=dict(vars(dialect)),
        score=score(verdict, must),
        must=must,
        should=share(found, "should"),
        invariants=by_invariant(found),
        implementations=found,
        complete=not stopped,
        seed=tests.seed,
        limit=seconds,
        seconds=round(perf_counter() - started, 3),
        sandbox=Sandbox(list(in_force), all(layer in in_force for layer in CONTAINING)),
    )
