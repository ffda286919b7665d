"""Every promise has teeth: mutants of the reference that this very promise kills."""

from __future__ import annotations

import pytest

from conformance.catalogue import CATALOGUE
from conformance.evidence import Evidence
from conformance.invariant import Mutant
from conformance.legs import search
from conformance.meta.mutation import mutated

MUTANTS = [(name, number, mutant) for name, i in CATALOGUE.items() for number, mutant in enumerate(i.mutants)]


@pytest.mark.parametrize(("name", "mutant"), [(n, m) for n, _, m in MUTANTS], ids=[f"{n}-{k}" for n, k, _ in MUTANTS])
def test_the_promise_kills_its_mutant(name: str, mutant: Mutant) -> None:
    evidence = Evidence(mutated(name, mutant), examples=50)
    if name == "scale/steady":
        search.scale(evidence.study)
    finding = evidence.about(name)
    assert finding is not None, f"{name} does not see: {mutant.replace}"


def test_every_promise_has_mutants() -> None:
    assert len(CATALOGUE) == 26
    assert len(MUTANTS) == 50
    assert all(invariant.mutants for invariant in CATALOGUE.values())


def test_a_mutant_that_matches_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="matches 0 times"):
        mutated("x", Mutant("no such text", ""))
