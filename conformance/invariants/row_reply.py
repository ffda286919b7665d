"""row/reply: which reply is whose."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    split = found.divergence
    if found.run.workload.sampled and not found.conforms:
        # A pure model has been served well before this is asked, so only the replies to equal rows are left to blame.
        place = split.call if split else len(found.run.calls)
        return Violation(place, "some way to give equal rows their replies that explains the run", "there is none")
    if split is None:
        return None
    for stranger in split.strangers:
        if stranger.kind == "crossed":
            assert stranger.request is not None
            name, due = found.name(stranger.request), found.ledger.due[stranger.request]
            return Violation(
                split.call,
                f"the row {list(due)} for {name}, because its row was answered with {due[-1]}",
                f"the row {list(stranger.row)}: the reply {stranger.row[-1]} was to another row",
                stranger.request,
            )
    return None


def witness(found: Attribution) -> bool:
    """One call answers two rows with different tokens, and one of them goes on."""
    pairs = zip(found.owners, found.run.calls, strict=False)
    return any(len(set(call.replies or ())) > 1 for _, call in pairs) and any(
        len(tokens) > 1 for tokens in found.ledger.generated
    )


INVARIANT = Invariant(
    level="MUST",
    sentence='Reply i belongs to row i, equal rows included: the model "returns exactly one next token id per entry, '
    'in the same order".',
    why="Crossed tokens are the fault users fear most: somebody reads another person's answer.",
    seen_in=(
        "torch-spyre/sendnn-inference#33",
        "ml-explore/mlx-lm#1772",
        "OpenNMT/CTranslate2#1425",
        "inferencerlabs/inferencer-feedback#127",
    ),
    does_not_say="Which of two equal rows is whose; any reading that explains all that follows is accepted.",
    check=check,
    witness=witness,
    situations=frozenset({"plain", "sampled"}),
    mutants=(
        Mutant("zip(sent, tokens, strict=True)", "zip(sent, reversed(tokens), strict=True)"),
        Mutant(
            "zip(sent, tokens, strict=True)",
            "zip(sent, [dict(zip(map(tuple, batch), tokens))[tuple(row)] for row in batch], strict=True)",
        ),
    ),
)
