"""reply/checked: a reply that does not fit is an error."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.history import Raised
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    failed, outcome = found.failed, found.run.outcome
    if failed is None or not found.clean:
        return None
    call = found.run.calls[failed]
    if len(found.run.calls) == failed + 1 and isinstance(outcome, Raised):
        return None
    answer = f"{len(call.replies or ())} tokens for {len(call.rows)} rows"
    went_on = f"{len(found.run.calls) - failed - 1} more calls and {type(outcome).__name__.lower()}"
    return Violation(failed, f"an error, because the model answered {answer}", went_on)


def witness(found: Attribution) -> bool:
    """The model answers with a token too few or too many."""
    return found.failed is not None


INVARIANT = Invariant(
    level="SHOULD",
    sentence="A reply of the wrong length is an error, not a silent loss.",
    why="`zip` stops at the shorter list: the last sequence then waits for ever, or is dropped.",
    seen_in=("torch-spyre/sendnn-inference#33",),
    does_not_say="Which error.",
    check=check,
    witness=witness,
    situations=frozenset({"short", "long"}),
    mutants=(
        Mutant(
            "        if len(tokens) != len(sent):\n"
            '            raise ValueError(f"the model returned {len(tokens)} tokens for {len(sent)} rows")\n'
            "        for index, token in zip(sent, tokens, strict=True):",
            "        for index, token in zip(sent, tokens):",
        ),
    ),
)
