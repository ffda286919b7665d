"""The fair profile's catalogue is complete: a MUST is broken where the transition system refuses, and nowhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice

from conformance.engine.drive import drive
from conformance.engine.events import History
from conformance.fair import scope
from conformance.fair.catalogue import MUST, TURNS, judge
from conformance.fair.edits import edits
from conformance.fair.system import accepts
from conformance.fair.targets import REFERENCE, subject
from reference.vocabulary import Dialect

EDITED = {"crowds": 127, "arrivals": 331, "aborts": 277, "failures": 251}  # one life in so many, of each leg
WAIT = "fairness/bounded-wait"


def lives() -> Iterator[tuple[History, int]]:
    of = subject(REFERENCE)
    for leg, every in EDITED.items():
        for script in islice(getattr(scope, leg)(of.dialect), every // 2, None, every):
            yield drive(of.make(script.quantum), script), script.quantum


@cache
def verdicts() -> tuple[Counter[bool], Counter[tuple[str, ...]], list[str]]:
    """How many edits the transition system accepts, which MUSTs the others break, and where the two disagree."""
    accepted, broken, disagreements = Counter[bool](), Counter[tuple[str, ...]](), []
    for life, quantum in lives():
        for history in edits(life):
            explained = accepts(history, Dialect(), quantum)
            names = tuple(sorted(MUST.intersection(judge(history, Dialect(), quantum).violations)))
            accepted[explained] += 1
            broken[names] += 1
            if explained != (not names):
                disagreements.append(f"{names}: {history.events}")
    return accepted, broken, disagreements


def test_the_catalogue_and_the_transition_system_agree_on_every_edit() -> None:
    accepted, _, disagreements = verdicts()
    assert disagreements == []
    assert (accepted[True], accepted[False]) == (1_328, 7_809)


def test_without_a_promise_of_turns_some_edit_escapes() -> None:
    _, broken, _ = verdicts()
    needed = {names[0] for names in broken if len(names) == 1}
    assert needed >= set(TURNS) - {WAIT}


def test_a_wait_that_is_too_long_has_a_cause_that_another_promise_names() -> None:
    _, broken, _ = verdicts()
    waits = [names for names in broken if WAIT in names]
    assert waits
    assert (WAIT,) not in waits
