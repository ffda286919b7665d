"""The proofs about the transition system are proofs of something, and of this transition system."""

from __future__ import annotations

import pytest
from z3 import BoolVal, Int, Ints

from conformance.proving import agreement
from reference import transitions
from reference.formal import bridge, fairness, profiles, safety, system, termination
from reference.formal.obligation import Claim, Control, Obligation, decide

THEOREMS = (*safety.THEOREMS, *termination.THEOREMS, *profiles.THEOREMS, *fairness.THEOREMS)


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.name)
def test_every_theorem_is_proved_and_its_controls_refuted(theorem: Obligation) -> None:
    """Each theorem is proved from hypotheses that can be true, and each of its controls is refuted."""
    result = theorem.check()
    assert result.verdict == "proved", result.parts
    assert all(result.satisfiable.values()), result.satisfiable
    assert set(result.controls.values()) == {"refuted"}, result.controls
    assert result.holds


def test_the_theorems_are_these_many() -> None:
    """No theorem and no control can get lost unnoticed, and each has a statement and a name of its own."""
    assert len({theorem.name for theorem in THEOREMS}) == len(THEOREMS) == 30
    assert sum(len(theorem.controls) for theorem in THEOREMS) == 59
    assert all(theorem.statement and theorem.scope and theorem.method for theorem in THEOREMS)
    for theorem in THEOREMS:
        assert len({control.name for control in theorem.controls}) == len(theorem.controls)


# -- What makes a theorem fail -----------------------------------------------------------------------

X = Int("x")
TRUE_CLAIM, FALSE_CLAIM = Claim((X > 1,), X > 0), Claim((X > 0,), X > 1)
VACUOUS_CLAIM = Claim((X > 0, X < 0), BoolVal(False))
REFUTED = Control("the hypothesis is weaker", lambda: FALSE_CLAIM)


def theorem_of(claim: Claim, *controls: Control) -> Obligation:
    return Obligation("x", "x is positive.", "integers", "z3", lambda: {"": claim}, controls)


def test_a_true_claim_with_a_refuted_control_holds() -> None:
    """The plain case: proved, satisfiable, controlled."""
    assert theorem_of(TRUE_CLAIM, REFUTED).check().holds


@pytest.mark.parametrize(
    "theorem",
    [
        theorem_of(FALSE_CLAIM, REFUTED),
        theorem_of(VACUOUS_CLAIM, REFUTED),
        theorem_of(TRUE_CLAIM),
        theorem_of(TRUE_CLAIM, REFUTED, Control("nothing is broken", lambda: TRUE_CLAIM)),
    ],
    ids=["refuted", "contradictory hypotheses", "no control", "control not refuted"],
)
def test_a_worthless_proof_does_not_hold(theorem: Obligation) -> None:
    """A refuted claim, a proof of nothing and a proof without a control that fails are no theorems."""
    assert not theorem.check().holds


def test_unknown_fails() -> None:
    """What z3 cannot decide is neither proved nor refuted, as a claim and as a control."""
    x, y, z = Ints("x y z")
    fermat = Claim((x > 0, y > 0, z > 0), x * x * x + y * y * y != z * z * z)
    assert decide(fermat, timeout=0.05) == "unknown"
    assert not theorem_of(fermat, REFUTED).check(timeout=0.05).holds
    assert not theorem_of(TRUE_CLAIM, Control("undecided", lambda: fermat)).check(timeout=0.05).holds


# -- The bridge: the encoding against `reference.transitions` ----------------------------------------


def test_every_encoded_action_is_named_as_in_the_transition_system() -> None:
    """`initial`, `admit` and `advance` exist on both sides, and so do the invariants."""
    assert list(bridge.ACTIONS) == ["initial", "admit", "advance"]
    assert all(callable(getattr(transitions, name)) for name in bridge.ACTIONS)
    encoded = {invariant.__name__ for invariant in system.INVARIANTS}
    assert {invariant.__name__ for invariant in transitions.STATE_INVARIANTS} <= encoded


def test_every_encoded_action_agrees_with_python_on_every_small_state() -> None:
    """Each encoding of an action, evaluated on a concrete state, leaves the state that Python's leaves."""
    found = agreement.compare_actions()
    assert found.differ == 0, found.first
    assert found.counts == {"initial": 50, "admit": 321, "advance": 876}


def test_a_broken_encoding_is_caught() -> None:
    """The comparison sees an encoded `advance` that forgets the stop token."""
    assert agreement.compare_actions({"advance": (agreement.forgetful,)}).differ == 20


def test_every_encoded_invariant_agrees_with_python_on_good_and_bad_states() -> None:
    """Each invariant that both sides name is true of the same states, where no request is in two slots."""
    found = agreement.compare_invariants()
    assert found.differ == 0, found.first
    assert found.counts == {True: 3890, False: 5290}
