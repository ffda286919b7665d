"""Who grades: this process, processes of this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conformance.grading.pool import Handing, Here
from conformance.grading.referees import Referees

AHEAD = 2  # tasks for each that grades: one in work, one that waits
SCHEMES = ("dask",)


@contextmanager
def handing(name: str | None, jobs: int, tasks: int) -> Iterator[Handing]:
    """Open the executor of that name, or one for `jobs` at a time. Raises Unreachable."""
    jobs = min(jobs, tasks)
    if jobs <= 1:
        yield Handing(Here(), lambda: 1)
        return
    referees = Referees(jobs)
    try:
        yield Handing(referees, lambda: AHEAD * jobs)
    finally:
        referees.shutdown(cancel_futures=True)
