"""row/prefix: what a row holds."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    split = found.divergence
    if split is None:
        return None
    for stranger in split.strangers:
        if stranger.kind == "again":
            assert stranger.request is not None
            name = found.name(stranger.request)
            return Violation(split.call, f"one row for {name}", f"two rows {list(stranger.row)}", stranger.request)
        if stranger.kind == "unknown":
            left = [r for r in split.required if r not in split.seen]
            due = " or ".join(f"{list(found.ledger.due[r])} for {found.name(r)}" for r in left)
            expected = f"the row {due}" if due else "only prompts with everything generated for them so far"
            return Violation(split.call, expected, f"the row {list(stranger.row)}, which is no request's prefix")
    return None


def witness(found: Attribution) -> bool:
    """Some request has a row with generated tokens in it."""
    return any(len(tokens) > 1 for tokens in found.ledger.generated)


INVARIANT = Invariant(
    level="MUST",
    sentence='Every row is "the full token prefix (prompt + generated so far)" of some request, and no request has '
    "two rows.",
    why="The model keeps no state: a row with a token too few, too many or of another request gets an answer to "
    "another question, and it looks plausible.",
    seen_in=("waybarrios/vllm-mlx#384", "Blaizzy/mlx-vlm#1542", "vllm-project/vllm-gaudi#524"),
    does_not_say="In which order the rows stand, nor which slot a request has.",
    check=check,
    witness=witness,
    mutants=(
        Mutant("[*self.request.prompt, *self.generated]", "[*self.request.prompt, *self.generated[-1:]]"),
        Mutant("[*self.request.prompt, *self.generated]", "[*self.generated, *self.request.prompt]"),
    ),
)
