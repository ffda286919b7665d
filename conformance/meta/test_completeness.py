"""The catalogue is complete, and no promise in it is idle.

A history is accepted by the transition system if and only if no MUST is violated: seen on every
history of a small scope and every single edit of it. And the reverse: without any one promise, an
edit would pass, or the promise says `implied_by`, or it is a fact of a session.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from conformance.attribution import attribute
from conformance.catalogue import CATALOGUE, MUST, judge
from conformance.expected import matches
from conformance.history import Run
from conformance.legs import scope
from conformance.meta.edits import edits
from conformance.proving.replaying import accepted
from conformance.run import drive
from conformance.workloads import Workload
from reference.generate import generate
from reference.vocabulary import Dialect

# One returned run does not show these: they are about several runs, about inputs, about a model that fails.
SESSION_FACTS = {"run/independent", "input/unchanged", "failure/surfaces"}
KINDS = (scope.KINDS[0], *scope.SHORT)
DIALECTS = (
    Dialect(),
    Dialect(stop_token="excluded"),
    Dialect(max_tokens="total"),
    Dialect(batch="padded"),
)
PINNED = {"compact": 32_588, "excluded": 8_244, "total": 8_244, "padded": 10_180}


def workloads(dialect: Dialect, size: int) -> Iterator[Workload]:
    number = 0
    yield from scope.up_to(1, dialect)
    for count in range(size + 1):
        for kinds, slots in product(product(KINDS, repeat=count), (1, 2, 3)):
            number += 1
            if count < 3 or number % 2 == 0:
                yield scope.built(kinds, slots, scope.NAMING[number % 3], number, dialect)


def judged_edits(dialect: Dialect, size: int) -> tuple[int, set[str], list[str]]:
    """Count the edits; collect the promises that some edit breaks alone; describe every disagreement."""
    alone: set[str] = set()
    count, disagreements = 0, []
    musts = {invariant.name for invariant in MUST}
    for workload in workloads(dialect, size):
        run = drive(lambda *a: generate(*a, dialect=dialect), workload)
        for edited in edits(run):
            count += 1
            # The whole catalogue, even where the quick look says that all is well.
            violations = set(judge(edited, dialect, CATALOGUE.values()).violations) & musts
            right = accepted(edited, dialect)
            hasty = matches(edited, dialect) and not right and _said_by_the_model(edited)
            if right == bool(violations) or hasty:
                disagreements.append(f"{sorted(violations)} but accepted={right}: {edited}")
            if len(violations) == 1:
                alone |= violations
    return count, alone, disagreements


def _said_by_the_model(run: Run) -> bool:
    """Whether the replies are the workload's; the quick look takes that for granted, as the referee made them."""
    return all(list(call.replies or ()) == run.workload.reply(call.rows) for call in run.calls)


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
def test_accepted_if_and_only_if_no_must_is_violated(dialect: Dialect) -> None:
    name = next(
        (v for v in (dialect.batch, dialect.stop_token, dialect.max_tokens) if v in ("padded", "excluded", "total")),
        "compact",
    )
    count, alone, disagreements = judged_edits(dialect, 3 if name == "compact" else 2)
    assert not disagreements, f"{len(disagreements)} of {count}, the first: {disagreements[0]}"
    assert count == PINNED[name]
    if name == "compact":
        pads = {"pad/shape", "pad/ignored"}
        idle = {i.name for i in MUST if not i.implied_by} - alone - SESSION_FACTS - pads
        assert not idle, f"no edit breaks only these, so they could be left out: {sorted(idle)}"
    if name == "padded":
        assert "pad/shape" in alone


def test_the_disagreement_would_be_noticed() -> None:
    """With a promise left out of the catalogue, some edit is neither accepted nor violated."""
    dialect, missed = Dialect(), 0
    without = [i for i in CATALOGUE.values() if i.name != "refill/immediate"]
    for workload in workloads(dialect, 2):
        for edited in edits(drive(generate, workload)):
            missed += not accepted(edited, dialect) and not judge(edited, dialect, without).violations
    assert missed > 0


def test_attribution_of_the_reference_is_clean() -> None:
    for workload in scope.up_to(2, Dialect()):
        assert attribute(drive(generate, workload), Dialect()).conforms
