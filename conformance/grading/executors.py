"""Who grades: this process, processes of this machine, or an existing cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from conformance.grading.pool import Handing, Here
from conformance.grading.referees import Referees

AHEAD = 2  # tasks for each that grades: one in work, one that waits
ADDRESS = re.compile(r"dask:((?:(?:tcp|tls|ws|wss)://)?[^\s/]+:\d+)")


class ExecutorError(ValueError):
    """An executor that cannot be had; one line that says why."""


def address_of(name: str) -> str:
    """Take `dask:ADDRESS` apart. Raises ExecutorError."""
    found = ADDRESS.fullmatch(name)
    if found is None:
        raise ExecutorError(f"{name!r} is not dask:ADDRESS, as in dask:127.0.0.1:8786 or dask:tls://host:8786")
    return found[1]


@contextmanager
def handing(name: str | None, jobs: int, tasks: int, *, packages: bool = False) -> Iterator[Handing]:
    """Open the executor of that name, or one of this machine for `jobs` at a time. Raises ExecutorError."""
    if name is not None:
        from conformance.grading.executor_dask import connected

        with connected(address_of(name), packages=packages) as hand:
            yield hand
        return
    jobs = min(jobs, tasks)
    if jobs <= 1:
        yield Handing(Here(), lambda: 1)
        return
    referees = Referees(jobs)
    try:
        yield Handing(referees, lambda: AHEAD * jobs)
    finally:
        referees.shutdown(cancel_futures=True)
