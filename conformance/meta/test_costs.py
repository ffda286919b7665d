"""What is proved about the number of calls is true, and is about the calls that `generate` makes."""

from __future__ import annotations

import operator
from pathlib import Path

import pytest

from conformance.proving import recursion
from reference.formal import costs, counterexamples
from reference.formal.counterexamples import FalseClaim
from reference.formal.obligation import Obligation


@pytest.mark.parametrize("theorem", costs.THEOREMS, ids=lambda theorem: theorem.name)
def test_every_theorem_is_proved_and_its_controls_refuted(theorem: Obligation) -> None:
    """Each theorem is proved from hypotheses that can be true, and each of its controls is refuted."""
    result = theorem.check()
    assert result.verdict == "proved", result.parts
    assert all(result.satisfiable.values()), result.satisfiable
    assert set(result.controls.values()) == {"refuted"}, result.controls
    assert result.holds


def test_the_theorems_are_these_many() -> None:
    """No theorem, part or control can get lost unnoticed, and all but one are proved for each number of slots."""
    assert len({theorem.name for theorem in costs.THEOREMS}) == len(costs.THEOREMS) == 16
    assert sum(len(theorem.controls) for theorem in costs.THEOREMS) == 33
    assert costs.SLOTS == (1, 2, 3, 4, 6, 8)
    assert sum(len(theorem.claims()) for theorem in costs.THEOREMS) == 3 + 15 * 3 * 6 + 2 * 6


# -- False claims ------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", counterexamples.FALSE, ids=lambda claim: claim.name)
def test_every_false_claim_has_its_smallest_counterexample(claim: FalseClaim) -> None:
    """The search of a small scope, the smallest case first, finds the counterexample and figures that are stated."""
    assert counterexamples.smallest(claim) == claim.counterexample
    assert claim.figures(claim.counterexample) == claim.found
    assert operator.gt(*claim.found)


def test_the_false_claims_have_the_figures_of_the_design() -> None:
    """Five tempting claims fail with every request present at the start, three more with arrivals."""
    found = {
        claim.name: (claim.counterexample.lengths, claim.found) for claim in counterexamples.FALSE if not claim.online
    }
    assert found == {
        "false/formula": ((1, 1, 2), (3, 2)),
        "false/optimal": ((1, 1, 2), (3, 2)),
        "false/shortest-first": ((1, 2, 1, 2), (4, 3)),
        "false/longest-first": ((2, 3, 2, 3, 2), (7, 6)),
        "false/finish-order": ((2, 1), (2, 1)),
    }
    assert all(claim.counterexample.slots == 2 for claim in counterexamples.FALSE)
    assert sum(claim.online for claim in counterexamples.FALSE) == 3


# -- The bridge: the recursion against `generate`, against `reference.transitions`, and against z3 ---


def test_the_recursion_counts_the_calls_that_generate_makes() -> None:
    """For all lengths up to 3 of up to 4 requests, calls, starts and ends are those that `generate` really has."""
    found = recursion.compare_with_generate()
    assert found.differ == 0, found.first
    assert found.total == 1364


def test_the_recursion_with_arrivals_is_that_of_the_transition_system() -> None:
    """For all small lengths and arrivals, each request runs in the steps that the recursion says, and in no other."""
    found = recursion.compare_with_transitions()
    assert found.differ == 0, found.first
    assert found.total == 1926


def test_the_run_that_z3_reasons_about_is_the_recursion() -> None:
    """For all small lengths and arrivals, the encoded run has the calls, end, total and longest of the recursion."""
    found = recursion.compare_encoding()
    assert found.differ == 0, found.first
    assert found.total == 330


def test_a_broken_run_is_caught() -> None:
    """The comparisons see one slot more, and an encoded run whose requests wait for the slot that is free last."""
    assert recursion.compare_with_generate(recursion.one_slot_more).differ == 603
    assert recursion.compare_with_transitions(recursion.one_slot_more).differ == 816
    assert recursion.compare_encoding(costs.to_fullest).differ == 188


def test_the_document_names_every_claim() -> None:
    """`docs/costs.md` says of every theorem and every false claim, by name, what became of it."""
    document = (Path(__file__).parents[2] / "docs" / "costs.md").read_text(encoding="utf-8")
    names = [theorem.name for theorem in costs.THEOREMS] + [claim.name for claim in counterexamples.FALSE]
    assert [name for name in names if f"`{name}`" not in document] == []


def test_static_batches_never_need_fewer_calls_in_the_small_scope() -> None:
    """The theorem against static batching is true of the recursion, and strictly so in some case."""
    saved = [
        case.static_calls() - case.calls() for case in counterexamples.cases(requests=4, slots=3, longest=3, last=0)
    ]
    assert min(saved) == 0
    assert max(saved) == 2
