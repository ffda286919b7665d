"""docs/engine.md says what the code does: its timelines are fresh, its numbers and links are right."""

from __future__ import annotations

import re

from conformance.engine import scope
from conformance.engine.catalogue import ENGINE
from conformance.engine.drive import drive
from conformance.engine.page import EXAMPLE, PAGE, SPLICE, spliced
from conformance.engine.reading import read
from conformance.engine.script import Script, shrunk
from conformance.engine.targets import REFERENCE, lacks, subject
from reference.vocabulary import Dialect

TEXT = PAGE.read_text(encoding="utf-8")
SCOPES = (
    scope.first_look,
    scope.arrivals,
    scope.duplicates,
    scope.aborts,
    scope.aborts_of_three,
    scope.failures,
    scope.odd,
)


def test_the_timelines_are_fresh() -> None:
    """`python -m conformance.engine.page` changes nothing."""
    assert len(SPLICE.findall(TEXT)) == 2
    assert spliced(TEXT) == TEXT


def test_a_stale_timeline_would_be_noticed() -> None:
    """An output that the reference does not give is put right."""
    assert spliced(TEXT.replace("a 15, b 25", "a 15, b 26")) == TEXT


def test_the_numbers_are_right() -> None:
    """Each size of a scope is in the text."""
    for scripts in SCOPES:
        assert f"{sum(1 for _ in scripts(Dialect())):,}" in TEXT, scripts.__name__


def test_the_links_lead_somewhere() -> None:
    """Every promise that is linked is one."""
    linked = set(re.findall(r"\[([a-z]+/[a-z-]+)\]\(invariants\.md#([a-z-]+)\)", TEXT))
    assert len(linked) >= 8
    assert linked <= {(name, invariant.anchor) for name, invariant in ENGINE.items()}


def test_the_example_shows_what_the_text_says() -> None:
    """It is an occasion for each of the situations that it explains."""
    reading = read(drive(subject(REFERENCE).make(), EXAMPLE), Dialect())
    wanted = {"arrival inside a call", "abort in flight", "id again in flight", "nothing to generate", "failed call"}
    assert wanted <= reading.occasions
    assert reading.clean


def test_shrinking_keeps_what_it_should() -> None:
    """The smallest script in which anybody aborts has one request, one slot and two moves."""

    def aborts(script: Script) -> bool:
        reading = read(drive(subject(REFERENCE).make(), script), Dialect())
        return "ends as abort" in reading.occasions

    small = shrunk(EXAMPLE, aborts)
    assert (len(small.asks), len(small.moves), small.num_slots) == (1, 2, 1)


def test_what_the_profile_applies_to() -> None:
    """A module without `Engine` is skipped with the reason, and so is one whose engine wants a quantum."""
    assert lacks(subject(REFERENCE).module) == ""
    assert lacks(subject("reference.generate").module) == "it offers no Engine"
    assert "quantum" in lacks(subject("reference.fair").module)
