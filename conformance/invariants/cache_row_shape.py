"""cache/row-shape: in what form a forward and a reset are asked for."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.cached.attribution import slipped
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    return slipped(found, "shape")


def witness(found: Attribution) -> bool:
    """There is a forward."""
    return bool(found.owners)


INVARIANT = Invariant(
    level="MUST",
    sentence="A forward is given a list of (slot, new tokens) tuples, an int and a list of ints each; a reset is given "
    "an int.",
    why="It is what the interface says. A tensor or a bool in place of an int works until something compares it.",
    does_not_say="Anything of what the slots and tokens are.",
    check=check,
    witness=witness,
    situations=frozenset({"plain", "sampled", "raises"}),
    profile="cached",
    mutants=(
        Mutant("batch = [(index, slot.unwritten) for", "batch = [[index, slot.unwritten] for"),
        Mutant("slot.unwritten = [token]", "slot.unwritten = (token,)"),
        Mutant(
            "                    model.reset(index)\n    finally",
            "                    model.reset(str(index))\n    finally",
        ),
    ),
)
