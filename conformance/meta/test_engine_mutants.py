"""Every promise of the engine profile has teeth: mutants of the reference that this very promise kills."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.engine.catalogue import ENGINE, INDEPENDENT
from conformance.engine.mutation import mutated
from conformance.engine.study import LEGS, Study
from conformance.invariant import Mutant

MUTANTS = [(name, number, mutant) for name, i in ENGINE.items() for number, mutant in enumerate(i.mutants)]


@pytest.mark.parametrize(("name", "mutant"), [(n, m) for n, _, m in MUTANTS], ids=[f"{n}-{k}" for n, k, _ in MUTANTS])
def test_the_promise_kills_its_mutant(name: str, mutant: Mutant) -> None:
    """Legs are run until the promise is seen broken; it is, or the mutant survives."""
    study = Study(mutated(name, mutant), shrinking=False)
    legs: list[Callable[[], None]] = [lambda leg=leg: study.search(leg, name) for leg in LEGS]  # type: ignore[misc]
    for leg in (study.beside, *legs) if name == INDEPENDENT else legs:
        if name not in study.findings:
            leg()
    assert name in study.findings, f"{name} does not see: {mutant.replace}"


def test_every_promise_has_mutants() -> None:
    """And none is left out by mistake."""
    assert len(ENGINE) == 21
    assert len(MUTANTS) == 51
    assert all(invariant.mutants for invariant in ENGINE.values())


def test_a_mutant_that_matches_nothing_is_an_error() -> None:
    """So that an edit of the reference cannot disarm one."""
    with pytest.raises(ValueError, match="matches 0 times"):
        mutated("x", Mutant("no such text", ""))
