"""Every honest variant passes, in the dialect that it declares, and follows the transition system."""

from __future__ import annotations

import pytest

from conformance.evidence import Evidence
from conformance.history import Returned
from conformance.meta.mutation import modules
from conformance.proving.replaying import accepted, small
from conformance.targets import REFERENCE, load
from conformance.workloads import Session

HONEST = list(modules("variants"))
EVERY_DIALECT = [
    f"max_tokens={limit},stop_token={stop},batch={batch}"
    for limit in ("new", "total")
    for stop in ("included", "excluded")
    for batch in ("compact", "padded")
]


def short(name: str) -> str:
    return name.rpartition(".")[2]


@pytest.mark.parametrize("name", HONEST, ids=short)
def test_no_promise_is_seen_broken(name: str) -> None:
    evidence = Evidence(load(name), examples=60)
    while evidence.run_next():
        pass
    assert not evidence.study.findings, evidence.study.findings
    assert evidence.study.runs > 22_000


@pytest.mark.parametrize("text", EVERY_DIALECT)
def test_the_reference_passes_in_every_dialect(text: str) -> None:
    from conformance.targets import parse_dialect

    evidence = Evidence(load(REFERENCE, parse_dialect(text)), examples=40)
    while evidence.run_next():
        pass
    assert not evidence.study.findings, evidence.study.findings
    assert evidence.study.runs > 22_000


@pytest.mark.parametrize("name", [REFERENCE, *HONEST], ids=short)
def test_every_run_replays_through_the_transition_system(name: str) -> None:
    """The bridge: without it, what is proved of the transition system says nothing about the code."""
    implementation = load(name)
    count = 0
    for workload in small(implementation.dialect, every=1 if name == REFERENCE else 8):
        (run,) = implementation.run(Session((workload,)))
        assert isinstance(run.outcome, Returned)
        assert accepted(run, implementation.dialect), run
        count += 1
    assert count == (16_000 if name == REFERENCE else 2_000) + 963 + 1_344 + 264


def test_there_are_enough_of_them() -> None:
    assert len(HONEST) == 17
    assert len({load(name).module.__doc__ for name in HONEST}) == 17
