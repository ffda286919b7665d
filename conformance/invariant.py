"""The type of an invariant, and of its violation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from conformance.attribution import Attribution
from conformance.workloads import Workload

Level = Literal["MUST", "SHOULD"]
Evidence = Literal["wire", "reported"]


class Mutant(NamedTuple):
    """A fault put into the reference: `find`, which occurs there exactly once, becomes `replace`.

    `dialect` is the one that the mutant is run under, as `--dialect` takes it.
    """

    find: str
    replace: str
    dialect: str = ""


@dataclass(frozen=True)
class Violation:
    """Where a run breaks an invariant: at call `call`, counted from 0; the number of calls stands for the end.

    `request` is the one it is about, by index; `counted`: the prompt counts for the limit (`max_tokens=total`).
    """

    call: int
    expected: str
    observed: str
    request: int | None = None
    counted: bool = False


@dataclass(frozen=True)
class Invariant:
    """One promise, why it is made, and how it is judged. `check` is pure; it returns the violation or None.

    `situations` are the kinds of run it is judged in; `at_end` marks a promise about the outcome,
    which is not judged in a run whose calls went wrong before. `evidence` tells who sees the facts:
    the referee on the wire, or the process of the implementation, which reports them. `witness`
    tells whether a right run is a real occasion to break it. `implied_by` names the invariants that
    cannot all hold where this one is broken. `profile` is the interface that it speaks of; the checks
    of another profile than the core take that profile's history. `control` builds the control
    experiment of a violation: the workload without the circumstance that this promise is about. A fault
    that is still there has another cause, and is charged as what it is there.
    """

    level: Level
    sentence: str
    why: str
    does_not_say: str
    check: Callable[[Attribution], Violation | None]
    witness: Callable[[Attribution], bool]
    mutants: tuple[Mutant, ...]
    seen_in: tuple[str, ...] = ()
    situations: frozenset[str] = frozenset({"plain"})
    at_end: bool = False
    evidence: Evidence = "wire"
    implied_by: tuple[str, ...] = ()
    control: Callable[[Workload, Violation], Workload] | None = None
    profile: str = "core"
    name: str = ""

    @property
    def anchor(self) -> str:
        """The address in docs/invariants.md."""
        return self.name.replace("/", "-")
