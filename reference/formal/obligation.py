"""What a theorem is here: claims that z3 must prove, and broken copies of them that it must refute.

A proof can be worth nothing in two ways: its hypotheses contradict each other, or its conclusion
says too little to fail. So a theorem *holds* only if every claim is proved, every claim's hypotheses
can be true together, and every *negative control* (a broken transition, a dropped hypothesis, a
stronger conclusion) is refuted by a counterexample. `unknown` is never a pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from z3 import And, BoolRef, Not, Solver, is_true, sat, unsat

Verdict = Literal["proved", "refuted", "unknown"]
TIMEOUT = 60.0


@dataclass(frozen=True)
class Claim:
    """`goal` follows from all of `given`, whatever the free constants and functions are."""

    given: tuple[BoolRef, ...]
    goal: BoolRef


Claims = Mapping[str, Claim]


@dataclass(frozen=True)
class Control:
    """A claim that must be refuted; `name` says what was broken."""

    name: str
    claim: Callable[[], Claim]


@dataclass(frozen=True)
class Result:
    """What `Obligation.check` found, part by part; `satisfiable` tells whose hypotheses can be true together."""

    name: str
    parts: Mapping[str, Verdict]
    satisfiable: Mapping[str, bool]
    controls: Mapping[str, Verdict]
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """Tell what became of the claims: proved if all are, refuted if any is, else unknown."""
        verdicts = set(self.parts.values())
        if verdicts == {"proved"}:
            return "proved"
        return "refuted" if "refuted" in verdicts else "unknown"

    @property
    def controlled(self) -> bool:
        """Tell whether there are controls and every one is refuted."""
        return bool(self.controls) and set(self.controls.values()) == {"refuted"}

    @property
    def holds(self) -> bool:
        """Tell whether the theorem may be claimed: proved, from satisfiable hypotheses, with its controls refuted."""
        return self.verdict == "proved" and self.controlled and all(self.satisfiable.values())

    def __str__(self) -> str:
        refuted = sum(verdict == "refuted" for verdict in self.controls.values())
        vacuous = "" if all(self.satisfiable.values()) else ", hypotheses not seen to be satisfiable"
        controls = f"{refuted}/{len(self.controls)} controls refuted"
        return f"{self.name}: {self.verdict}, {self.seconds:.2f} s, {controls}{vacuous}"


@dataclass(frozen=True)
class Obligation:
    """A theorem: its `statement`, the `scope` it covers, the `method` of proof, and what z3 has to do for it.

    `claims` gives the claims by part (an action, or a step of an induction). Where they have
    quantifiers, `small` gives the same parts in a small scope, without quantifiers: what makes those
    hypotheses true makes the original ones true, and it can always be found.
    """

    name: str
    statement: str
    scope: str
    method: str
    claims: Callable[[], Claims]
    controls: tuple[Control, ...]
    small: Callable[[], Claims] | None = None

    def check(self, timeout: float = TIMEOUT) -> Result:
        """Decide every part and every control, each within `timeout` seconds."""
        start = time.perf_counter()
        claims = self.claims()
        small = self.small() if self.small else claims
        if set(small) != set(claims):
            raise ValueError(f"{self.name}: the small scope has the parts {sorted(small)}, not {sorted(claims)}")
        parts = {part: decide(claim, timeout) for part, claim in claims.items()}
        satisfiable = {part: consistent(claim, timeout) for part, claim in small.items()}
        controls = {control.name: decide(control.claim(), timeout) for control in self.controls}
        return Result(self.name, parts, satisfiable, controls, time.perf_counter() - start)


def decide(claim: Claim, timeout: float = TIMEOUT) -> Verdict:
    """Prove the claim by refuting its negation; "refuted" only by values that really make the goal false."""
    solver = solver_for(timeout)
    solver.add(*claim.given, Not(claim.goal))
    answer = solver.check()
    if answer == unsat:
        return "proved"
    if answer == sat and is_true(solver.model().eval(And(*claim.given, Not(claim.goal)), model_completion=True)):
        return "refuted"
    return "unknown"


def consistent(claim: Claim, timeout: float = TIMEOUT) -> bool:
    """Tell whether the hypotheses of the claim can be true together."""
    solver = solver_for(timeout)
    solver.add(*claim.given)
    return bool(solver.check() == sat)


def solver_for(timeout: float) -> Solver:
    """Make a solver that gives up after `timeout` seconds, and leaves an interrupt from the keyboard to Python."""
    solver = Solver()
    solver.set("timeout", round(timeout * 1000))
    solver.set("ctrl_c", False)
    return solver
