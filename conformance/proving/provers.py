"""What z3 and Dafny prove, as theorems of `slotspec prove`."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from functools import cache, partial

from conformance.proving.theorem import Outcome, Theorem
from reference.formal import costs, counterexamples, dafny, fairness, profiles, safety, termination
from reference.formal.broken import BROKEN
from reference.formal.counterexamples import Case, FalseClaim
from reference.formal.obligation import Obligation

OBLIGATIONS = (
    *safety.THEOREMS,
    *termination.THEOREMS,
    *profiles.THEOREMS,
    *fairness.THEOREMS,
    *costs.THEOREMS,
)
SMALLEST = Case(1, (1,), (0,))
ONE_REQUEST = "one request in one slot is a counterexample"
TRUST = re.compile(r"\b(assume|axiom|extern|verify|expect|include|timeLimit)\b")


def z3_theorems() -> Iterator[Theorem]:
    """Yield what z3 proves, and the false claims beside it, which are found by search."""
    yield from map(of_obligation, OBLIGATIONS)
    yield from map(of_false_claim, counterexamples.FALSE)


def of_obligation(obligation: Obligation) -> Theorem:
    controls = tuple(control.name for control in obligation.controls)
    short = "slots 1-4, 6, 8" if "num_slots in" in obligation.scope else "unbounded"
    check, statement = partial(check_obligation, obligation), obligation.statement
    return Theorem(obligation.name, statement, "z3", obligation.scope, short, obligation.method, controls, check)


def check_obligation(obligation: Obligation) -> Outcome:
    result = obligation.check()
    details = [f"{part or 'the claim'}: {verdict}" for part, verdict in result.parts.items() if verdict != "proved"]
    vacuous = [part or "the claim" for part, possible in result.satisfiable.items() if not possible]
    details += [f"{part}: its hypotheses are not seen to be satisfiable" for part in vacuous]
    refuted = tuple(name for name, verdict in result.controls.items() if verdict == "refuted")
    return Outcome("vacuous" if vacuous and result.verdict == "proved" else result.verdict, refuted, tuple(details))


def of_false_claim(claim: FalseClaim) -> Theorem:
    statement = f"It is false that {claim.statement}; the smallest counterexample is the one stated."
    scope = "every case up to the counterexample, the smallest first"
    check = partial(check_false_claim, claim)
    return Theorem(claim.name, statement, "z3", scope, "search", "exhaustive, search", (ONE_REQUEST,), check)


def check_false_claim(claim: FalseClaim) -> Outcome:
    found = counterexamples.smallest(claim)
    stands = (
        found == claim.counterexample and operator.gt(*claim.figures(found)) and claim.figures(found) == claim.found
    )
    refuted = () if operator.gt(*claim.figures(SMALLEST)) else (ONE_REQUEST,)
    return Outcome("holds", refuted) if stands else Outcome("broken", refuted, (f"the search found {found}",))


# -- Dafny -------------------------------------------------------------------------------------------


def dafny_theorems() -> Iterator[Theorem]:
    for theorem in dafny.THEOREMS:
        statement = f"{theorem.statement[:1].upper()}{theorem.statement[1:]}."
        check, scope, controls = partial(check_dafny, theorem), theorem.scope, theorem.controls
        yield Theorem(theorem.name, statement, "dafny", scope, "unbounded", theorem.method, controls, check)


def check_dafny(theorem: dafny.Theorem) -> Outcome:
    """Verify the whole text, once for all theorems, and the broken copies that belong to this one."""
    try:
        whole = verified()
        refuted = tuple(control for control in theorem.controls if rejected(control))
    except dafny.DafnyMissingError as missing:
        return Outcome("not run", details=(str(missing),))
    except dafny.DafnyError as error:
        return Outcome("unknown", details=(str(error)[:300],))
    details = [f"{failure.name}: {failure.message}" for failure in whole.failures]
    details += [f"{word}: taken on trust" for word in trusted()]
    return Outcome("refuted" if details else "proved", refuted, tuple(details))


@cache
def text() -> str:
    return dafny.PROOF.read_text(encoding="utf-8")


@cache
def verified() -> dafny.Verdict:
    return dafny.verify(text(), seconds=1200)


@cache
def rejected(name: str) -> bool:
    """Tell whether the broken copy is rejected by the lemma it names, and by none of those it should not touch."""
    (broken,) = (broken for broken in BROKEN if broken.name == name)
    verdict = dafny.verify(broken.apply(text()), only=(broken.rejected_by, *broken.accepted_by), seconds=1200)
    return verdict.rejected_by == {broken.rejected_by}


def trusted() -> list[str]:
    """Find the words with which a text is believed instead of proved."""
    return sorted(set(TRUST.findall(re.sub(r"//.*", "", text()))))
