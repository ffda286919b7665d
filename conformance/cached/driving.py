"""The driver: run one `generate_cached`, in this process, against the mock of a workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.cached.history import CachedRun
from conformance.cached.mock import CachedMock, Replies
from conformance.history import Outcome, Raised, Unended
from conformance.run import SECONDS, Generate, RunStopped, beside, chained, changed, deadline, normalised
from conformance.workloads import Session, Workload
from reference.vocabulary import Request


@dataclass(frozen=True)
class CachedSession(Session):
    """Runs in one process. With `same_model`, one model object serves them all: each finds the lines of the last."""

    same_model: bool = False

    def code(self) -> str:
        return f"{super().code()}\n# one model object serves all the runs" if self.same_model else super().code()


def drive(
    generate_cached: Generate,
    workload: Workload,
    mock: CachedMock | None = None,
    inside: Callable[[], None] | None = None,
) -> CachedRun:
    """Run `workload` once and record it. `inside` is called within the first forward, before it is answered."""
    mock, source, requests = mock or CachedMock(), Replies(workload, inside), workload.requests()
    mock.attach(source, workload)
    outcome: Outcome
    try:
        outcome = normalised(generate_cached(mock, requests, workload.num_slots, workload.stop_token))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        outcome = _raised(error, source)
    if mock.stopped or source.stopped:
        outcome = Unended(mock.stopped or source.stopped)
    told: Any = generate_cached  # one in another process says itself what changed there
    changes = changed(requests, workload) or getattr(told, "inputs_changed", "")
    rows = mock.rows_changed() or getattr(told, "rows_changed", "")
    return CachedRun(workload, tuple(mock.ops), outcome, changes, rows, mock.before)


def _raised(error: BaseException, source: Replies) -> Outcome:
    if isinstance(error, RunStopped):
        return Unended(str(error))
    surfaced = source.raised is not None and chained(error, source.raised)
    return Raised(type(error).__name__, str(error)[:200], surfaced, isinstance(error, ValueError))


def drive_session(generate_cached: Generate, session: CachedSession, seconds: float = SECONDS) -> list[CachedRun]:
    """Run every workload of a session in order, or the second one inside the first."""
    if session.nested:
        outer, inner = session.workloads
        runs: list[CachedRun] = []
        with deadline(seconds):
            inside = lambda: beside(lambda: runs.append(drive(generate_cached, inner)))  # noqa: E731
            first = drive(generate_cached, outer, None, inside)
        return [first, *runs]
    shared = CachedMock() if session.same_model else None
    with deadline(seconds):
        return [drive(generate_cached, workload, shared) for workload in session.workloads]


def uncached(generate_cached: Generate) -> Generate:
    """Make a core `generate` of a cached one: its model sees the lines as whole rows, and has no cache of its own."""

    def generate(model: Any, requests: list[Request], num_slots: int, stop_token: int) -> Any:
        mock = CachedMock()
        mock.attach(model, Workload((), num_slots, stop_token))
        return generate_cached(mock, requests, num_slots, stop_token)

    return generate
