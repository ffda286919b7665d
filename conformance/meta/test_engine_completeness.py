"""The catalogue of the engine profile is complete, and no promise in it is idle.

A history is accepted by the transition system if and only if no promise is violated: seen on a sample of the
small scope and every single edit of it. And the reverse: each promise is the only one that some edit breaks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, get_args

import pytest

from conformance.engine import scope
from conformance.engine.accept import accepts
from conformance.engine.catalogue import ENGINE, judge
from conformance.engine.causes import Cause, Fault
from conformance.engine.drive import Make, drive, maker
from conformance.engine.edits import edits
from conformance.engine.events import Begin, Call, Event, History, Output, Reply, Return, Submit, malformed
from conformance.engine.reading import read
from conformance.engine.script import Script
from conformance.workloads import Disagreement
from reference import engine
from reference.generate import generate
from reference.vocabulary import Dialect

# No single history of a model that leaves its rows alone shows these.
SESSION_FACTS = {"arrival/unchanged", "id/independent", "stream/private-rows"}
PLAIN, EXCLUDED = Dialect(), Dialect(stop_token="excluded", max_tokens="total")
PADDED = Dialect(batch="padded")
STRIDES = {PLAIN: 127, EXCLUDED: 401, PADDED: 401}
PINNED = {PLAIN: 10_880, EXCLUDED: 3_529, PADDED: 3_641}
SCOPES = {
    "first_look": 3_877,
    "arrivals": 6_853,
    "duplicates": 2_592,
    "aborts": 10_368,
    "aborts_of_three": 7_776,
    "failures": 6_804,
    "odd": 1_298,
    "pairs": 162,
}


def making(dialect: Dialect) -> Make:
    return maker(engine, dialect)


def sampled(dialect: Dialect, stride: int) -> Iterator[Script]:
    plain = (script for script in scope.first_look(dialect) if not script.tampers)
    return islice(plain, 0, None, stride)


@pytest.mark.parametrize("dialect", PINNED, ids=str)
def test_accepted_if_and_only_if_no_promise_is_violated(dialect: Dialect) -> None:
    alone: Counter[str] = Counter()
    count, disagreements = 0, []
    for script in sampled(dialect, STRIDES[dialect]):
        for history in edits(drive(making(dialect), script)):
            count += 1
            violations = judge(history, dialect).violations
            if accepts(history, dialect) == bool(violations):
                disagreements.append(f"{sorted(violations)}: {history}")
            if len(violations) == 1:
                alone.update(violations.keys())
    assert not disagreements, f"{len(disagreements)} of {count}, the first: {disagreements[0]}"
    assert count == PINNED[dialect]
    if dialect == PLAIN:
        # The ablation: without any one promise, an edit that the transition system refuses would pass.
        assert set(ENGINE) - set(alone) == SESSION_FACTS


def test_every_cause_has_one_owner() -> None:
    """A fault that no promise owned would be seen by nobody."""
    owners: Counter[str] = Counter()
    for cause in get_args(Cause):
        reading = read(History(1, 0, ()), PLAIN)
        reading.faults = [Fault(cause, "", "")]
        checks: dict[str, Any] = {n: i.check for n, i in ENGINE.items() if n != "stream/private-rows"}
        owners[cause] = sum(check(reading) is not None for check in checks.values())
    assert {cause: count for cause, count in owners.items() if count != 1} == {}


def test_the_sizes_of_the_scopes() -> None:
    """A bound that is stated is a bound that is counted."""
    found = {name: sum(1 for _ in getattr(scope, name)(PLAIN)) for name in SCOPES}
    assert found == SCOPES


def test_every_witness_occurs() -> None:
    """The situation of each promise really comes up in the first look: no pass is vacuous."""
    seen: set[str] = set()
    for script in scope.first_look(PLAIN):
        reading = read(drive(making(PLAIN), script), PLAIN)
        seen |= {name for name, i in ENGINE.items() if reading.situation in i.situations and _occurs(i, reading)}
    assert seen == set(ENGINE)


def _occurs(invariant: Any, reading: Any) -> bool:
    return bool(invariant.witness(reading))


@pytest.mark.parametrize("dialect", [PLAIN, EXCLUDED], ids=str)
def test_a_stream_put_together_is_what_generate_returns(dialect: Dialect) -> None:
    """Whenever a request arrives, and whoever it meets."""
    for script in islice(scope.arrivals(dialect), 0, None, 3):
        history = drive(making(dialect), script)
        emitted: dict[str, list[int]] = {e.request_id: [] for e in history.events if isinstance(e, Submit)}
        for event in history.events:
            for output in event.outputs if isinstance(event, Return) else ():
                emitted[output.request_id] += [] if output.token is None else [output.token]

        class Model:
            def next_tokens(self, batch: list[list[int]], script: Script = script) -> list[int]:
                return script.reply([tuple(row) for row in batch])

        # Who was to arrive inside a call that never was did not arrive.
        requests = [ask.request() for ask in script.asks if ask.request_id in emitted]
        assert emitted == generate(Model(), requests, script.num_slots, script.stop_token, dialect=dialect)


def test_equal_rows_with_unequal_replies_are_told_apart_by_the_outputs() -> None:
    """As a model that samples gives; the reply that was whose is known when the step returns."""

    def life(first: int, second: int) -> list[Event]:
        outputs = (Output("a", first, None), Output("b", second, "length"))
        begin: list[Event] = [Submit("a", (5,), 2), Submit("b", (5,), 1), Begin(), Call(((5,), (5,)))]
        return [*begin, Reply((7, 8)), Return(outputs), Begin(), Call(((5, first),)), Reply((9,))]

    for pair, right in (((7, 8), True), ((8, 7), True), ((7, 7), False), ((8, 9), False)):
        history = History(2, 0, tuple(life(*pair)))
        assert not malformed(history.events)
        assert accepts(history, PLAIN) is right
        assert bool(judge(history, PLAIN).violations) is not right


def test_scripts_print_as_code() -> None:
    """What a report shows can be pasted, and shrinking keeps to what the model can say."""
    for script in islice(scope.first_look(PLAIN), 0, None, 37):
        assert eval(script.code(), {"Script": Script}) == script
    with pytest.raises(Disagreement):
        Script.of([("a", [1], 1, [2]), ("b", [1], 1, [3])], [], num_slots=1, stop_token=0).reply([(1,)])
