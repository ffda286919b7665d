"""An existing Dask cluster as the executor. It needs the extra: pip install 'slotspec[dask]'.

Every worker has the same slotspec and can make the sandbox; nothing else of this machine is needed there, since
a task carries its candidate's source. A task whose worker is gone is given to another one by the scheduler.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from conformance.grading.executors import AHEAD, ExecutorError
from conformance.grading.fingerprint import kit
from conformance.grading.pool import Handing, Lost

CONNECT_SECONDS = 10
LOOK_SECONDS = 5.0  # between two looks at how many workers there are


@contextmanager
def connected(address: str, *, packages: bool = False) -> Iterator[Handing]:
    """Connect to the scheduler at `address`, and see that its workers have this slotspec.

    Raises ExecutorError for a cluster that cannot be used, Lost when it goes away.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ExecutorError("a Dask cluster needs the extra: pip install 'slotspec[dask]'") from None
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters of it is said in one line here
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ExecutorError(f"no Dask scheduler answers at {address}: {_line(error)}") from None
    try:
        _check_workers(client, address, packages)
        yield Handing(client.get_executor(pure=False), _Ahead(client))
    except Lost:
        raise Lost(f"the Dask cluster at {address} is gone") from None
    finally:
        with suppress(Exception):
            client.close(timeout=CONNECT_SECONDS)


def _check_workers(client: Any, address: str, packages: bool) -> None:
    try:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except TimeoutError:
        raise ExecutorError(f"the Dask cluster at {address} has no worker") from None
    ours = kit(packages=packages)
    try:
        theirs = client.run(kit, packages=packages, on_error="return")
    except Exception as error:
        raise ExecutorError(f"the workers at {address} cannot be asked: {_line(error)}") from None
    for worker, digest in theirs.items():
        if isinstance(digest, Exception):
            raise ExecutorError(f"worker {worker} has no slotspec that can be used: {_line(digest)}")
        if digest != ours:
            raise ExecutorError(f"worker {worker} has another slotspec: {digest[:12]} there, {ours[:12]} here")


class _Ahead:
    """How many tasks to hand out: as many as keep the workers busy that there are now."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.looked = -LOOK_SECONDS
        self.count = 1

    def __call__(self) -> int:
        if monotonic() > self.looked + LOOK_SECONDS:
            self.looked = monotonic()
            with suppress(Exception):  # a scheduler that is away for a moment; if it stays away, the tasks will tell
                self.count = max(1, AHEAD * sum(self.client.nthreads().values()))
        return self.count


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
