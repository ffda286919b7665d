"""What `slotspec prove` lists: a theorem, the method that decides it, and what became of it.

A theorem comes from a prover, from a search of a small scope, or from a replay; what it has in every
case is a statement, the scope that it covers, and *negative controls*: broken copies that the same
method must refute. It *holds* only if the method says so and every control was refuted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

Group = Literal["z3", "dafny", "crosshair", "bridge"]
GROUPS: tuple[Group, ...] = get_args(Group)

# Which verdict of a method says that the theorem is so.
GOOD = frozenset({"proved", "confirmed", "holds"})


@dataclass(frozen=True)
class Outcome:
    """What the method found; `refuted` names the controls that it refuted, `details` says what went wrong."""

    verdict: str
    refuted: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Theorem:
    """`scope` says in full what is covered, `short` in a few characters; `method` begins with the method's name."""

    name: str
    statement: str
    group: Group
    scope: str
    short: str
    method: str
    controls: tuple[str, ...]
    check: Callable[[], Outcome]

    @property
    def tool(self) -> str:
        return self.method.partition(",")[0]

    def decide(self) -> Line:
        """Decide the theorem and its controls, and take the time."""
        start = time.perf_counter()
        outcome = self.check()
        return Line(self, outcome, time.perf_counter() - start)


@dataclass(frozen=True)
class Line:
    """One line of the report."""

    theorem: Theorem
    outcome: Outcome
    seconds: float

    @property
    def ran(self) -> bool:
        return self.outcome.verdict != "not run"

    @property
    def refuted(self) -> int:
        return sum(control in self.outcome.refuted for control in self.theorem.controls)

    @property
    def holds(self) -> bool:
        """Tell whether the theorem may be claimed: the verdict is good, and there are controls, all refuted."""
        controls = self.theorem.controls
        return self.outcome.verdict in GOOD and bool(controls) and self.refuted == len(controls)

    def data(self) -> dict[str, object]:
        theorem = self.theorem
        return {
            "name": theorem.name,
            "statement": theorem.statement,
            "group": theorem.group,
            "scope": theorem.scope,
            "method": theorem.method,
            "verdict": self.outcome.verdict,
            "holds": self.holds,
            "seconds": round(self.seconds, 3),
            "controls": {control: control in self.outcome.refuted for control in theorem.controls},
            "details": list(self.outcome.details),
        }
