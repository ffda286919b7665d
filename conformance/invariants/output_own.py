"""output/own: the value of a request is its own tokens."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.history import Returned
from conformance.invariant import Invariant, Mutant, Violation
from conformance.invariants.pad_ignored import from_pads


def check(found: Attribution) -> Violation | None:
    outcome = found.run.outcome
    if not isinstance(outcome, Returned) or found.unfinished or found.failed is not None:
        return None
    for index, ask in enumerate(found.run.workload.asks):
        wanted = found.outputs[ask.request_id]
        for key, tokens in outcome.pairs:
            wrong = key == ask.request_id and list(tokens) != wanted and found.limits[index]
            if wrong and not from_pads(found, index, list(tokens)):
                return Violation(len(found.run.calls), f"{wanted} for {key!r}", f"{list(tokens)}", index)
    return None


def witness(found: Attribution) -> bool:
    """Two requests generate different tokens."""
    return len({tuple(tokens) for tokens in found.ledger.generated if tokens}) > 1


INVARIANT = Invariant(
    level="MUST",
    sentence='A request\'s value is "the generated tokens", those that the model returned for its own rows, in order; '
    "the stop token as the dialect says.",
    why="The calls can all be right and the answer still be wrong: put together from the wrong list, cut, or doubled.",
    seen_in=(
        "ml-explore/mlx-lm#965",
        "triton-inference-server/tensorrtllm_backend#167",
        "labscommunity/cascadia#116",
        "sgl-project/sglang#17240",
    ),
    does_not_say="Whether the stop token is part of it; that is declared, and then held to.",
    check=check,
    witness=witness,
    at_end=True,
    mutants=(
        Mutant("dialect.output(slot.generated, stop_token)", "slot.prefix()"),
        Mutant(
            "dialect.output(slot.generated, stop_token)",
            "slot.generated[: slot.request.max_tokens - 1] or slot.generated",
        ),
        Mutant("dialect.output(slot.generated, stop_token)", "[t for t in slot.generated if t]"),
    ),
)
