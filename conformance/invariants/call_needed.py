"""call/needed: no call is made for nothing."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    split = found.divergence
    if split is None or found.run.calls[split.call].malformed:
        return None
    if split.seen or split.strangers:
        return None  # whose rows these are, and what is wrong with them, is another promise's
    rows = f"a call with {len(found.run.calls[split.call].rows)} rows, none of a request in progress"
    if not split.required:
        return Violation(split.call, "no call, because every request has finished", rows)
    wanted = f"a row of at least one request in progress, such as {found.name(split.required[0])}"
    return Violation(split.call, wanted, rows)


def witness(found: Attribution) -> bool:
    """The run has an end after which one could call again, or nothing to do at all."""
    return not found.unfinished


INVARIANT = Invariant(
    level="MUST",
    sentence="Every call carries at least one row of a request in progress: no empty call, none after the last "
    'finish, because the loop runs "until all are done".',
    why="A forward pass is the most expensive thing the loop does; an empty one crashes many real models.",
    seen_in=("elixir-nx/bumblebee#419", "vllm-project/vllm#27922"),
    does_not_say="That a call must be useful for every slot; idle slots are refill/immediate's. A call with a row of a "
    "finished request is charged to what should have finished it.",
    check=check,
    witness=witness,
    mutants=(
        Mutant(
            "        if not occupied:\n            return results",
            "        if not occupied:\n            model.next_tokens([])\n            return results",
        ),
    ),
)
