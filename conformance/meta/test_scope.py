"""The small scope is what it says: counts are pinned, every situation occurs, replies reach the corners."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pytest

from conformance.attribution import attribute
from conformance.catalogue import CATALOGUE, judge
from conformance.expected import matches
from conformance.invariant import Invariant
from conformance.legs import scenarios, scope
from conformance.run import drive
from conformance.study import LEGS
from conformance.workloads import Disagreement, Session, Workload
from reference.generate import generate
from reference.transitions import Problem, explore
from reference.vocabulary import Dialect

COUNTS = {
    "small scope, 2 requests": 963,
    "small scope, 3 requests": 4_000,
    "scenarios": 74,
    "corners": 23,
    "small scope, 4 requests": 14_742,
    "small scope, empty prompts": 1_290,
    "small scope, shared prefixes": 1_608,
}


def test_the_counts_are_pinned() -> None:
    assert {leg.name: sum(1 for _ in leg.sessions(Dialect())) for leg in LEGS} == COUNTS


def test_the_state_counts_of_the_transition_system_are_pinned() -> None:
    def states(limits: tuple[int, ...], slots: int) -> int:
        prompts = tuple((10 * i,) for i in range(len(limits)))
        return len(explore(Problem(prompts, limits, slots, 0), (0, 1)))

    assert [states((3,), 1), states((2, 2), 1), states((2, 2), 2)] == [7, 17, 13]
    assert [states((1, 2, 1), 2), states((2, 3, 1), 2), states((2, 0, 2, 2), 3)] == [17, 35, 35]


def test_a_broken_state_is_noticed_by_explore(monkeypatch: pytest.MonkeyPatch) -> None:
    import reference.transitions as system

    monkeypatch.setattr(system, "admit", lambda state: state)
    with pytest.raises(AssertionError, match="no_idle_slot is false"):
        system.explore(Problem(((1,),), (1,), 1, 0), (0, 1))


def situations(dialect: Dialect) -> Iterator[Session]:
    small = (scope.up_to(2, dialect), scope.three(dialect), scope.sampled(dialect), scope.empties(dialect))
    yield from (Session((workload,)) for part in small for workload in part)
    parts = (scenarios.failing, scenarios.arguments, scenarios.replies, scenarios.rows)
    yield from chain.from_iterable(part(dialect) for part in parts)


@pytest.mark.parametrize("invariant", CATALOGUE.values(), ids=lambda invariant: invariant.name)
def test_the_situation_of_every_promise_occurs(invariant: Invariant) -> None:
    """No pass is vacuous: a right run was an occasion to break it."""
    dialect = Dialect(batch="padded") if invariant.name.startswith("pad/") else Dialect()
    occasions = 0
    for session in situations(dialect):
        if session.workloads[0].situation in invariant.situations:
            found = attribute(drive(lambda *a: generate(*a, dialect=dialect), session.workloads[0]), dialect)
            occasions += invariant.witness(found)
        if occasions == 5:
            return
    assert occasions >= 5


@pytest.mark.parametrize("text", ["", "batch=padded", "stop_token=excluded", "max_tokens=total"])
def test_the_quick_look_agrees_with_the_judgement(text: str) -> None:
    from conformance.targets import parse_dialect

    dialect = parse_dialect(text)
    workloads = [*scope.up_to(2, dialect), *scope.shared(dialect)]
    assert len(workloads) == 963 + 1_344
    for workload in workloads:
        run = drive(lambda *a: generate(*a, dialect=dialect), workload)
        assert matches(run, dialect)
        assert not judge(run, dialect, CATALOGUE.values()).violations


def test_replies_reach_the_corners() -> None:
    sessions = [session for leg in LEGS for session in leg.sessions(Dialect())]
    workloads = [workload for session in sessions for workload in session.workloads if workload.legal]
    tokens = {token for w in workloads for ask in w.asks for token in ask.script}
    assert {0, -1, 257, 2**31} <= tokens
    assert {w.stop_token for w in workloads} >= {0, -1, 50_256, 2**31 + 11}
    assert max(len(ask.script) for w in workloads for ask in w.asks) > 1_000
    assert max(len(w.asks) for w in workloads) > 16
    assert any(w.num_slots > len(w.asks) + 1 for w in workloads)
    assert any(ask.request_id == "" for w in workloads for ask in w.asks)
    assert any(ask.prompt == () for w in workloads for ask in w.asks)
    assert any(w.stop_token in ask.prompt for w in workloads for ask in w.asks)


def test_replies_that_disagree_are_refused() -> None:
    with pytest.raises(Disagreement, match="says both 1 and 2"):
        Workload.of([("a", [5], 1, [1]), ("b", [5], 1, [2])], num_slots=1, stop_token=0)
