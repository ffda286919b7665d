"""failure/any-class: the same for the exceptions that Python treats in a special way."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation
from conformance.invariants.failure_surfaces import surfaced
from conformance.workloads import PASSED_ON


def check(found: Attribution) -> Violation | None:
    fault = found.run.workload.fault
    return surfaced(found) if fault and fault.exception not in PASSED_ON else None


def witness(found: Attribution) -> bool:
    """The model raises something that is no ordinary exception."""
    fault = found.run.workload.fault
    return fault is not None and fault.exception not in PASSED_ON


INVARIANT = Invariant(
    level="SHOULD",
    sentence="StopIteration, TimeoutError, GeneratorExit, CancelledError and other classes that are no `Exception`, "
    "raised by the model, reach the caller too, themselves or chained.",
    why="Loops built on generators take StopIteration for the end of a sequence, and return what they have; asyncio "
    "makes a TimeoutError that comes from a thread anew, so that the model's own is lost.",
    does_not_say="Anything of ordinary exceptions; see failure/surfaces.",
    check=check,
    witness=witness,
    situations=frozenset({"raises"}),
    evidence="reported",
    mutants=(
        Mutant(
            "        tokens = model.next_tokens(batch)",
            "        try:\n            tokens = model.next_tokens(batch)\n"
            "        except StopIteration:\n            return results",
        ),
    ),
)
