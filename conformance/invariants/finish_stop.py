"""finish/stop: the stop token ends a request."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    return past_finish(found, "stop", "because the model generated the stop token for it")


def past_finish(found: Attribution, reason: str, because: str) -> Violation | None:
    """Find a row that goes on with a request which finished for `reason` in the call before."""
    split = found.divergence
    for stranger in split.strangers if split else ():
        if stranger.kind == "after finish" and found.ledger.finished.get(stranger.request or 0) == reason:
            assert split is not None
            assert stranger.request is not None
            name = found.name(stranger.request)
            expected = f"no row of {name}, {because}"
            return Violation(split.call, expected, f"the row {list(stranger.row)}", stranger.request)
    return None


def witness(found: Attribution) -> bool:
    """A request generates the stop token before its limit."""
    stops = found.ledger.finished
    return any(why == "stop" and len(found.ledger.generated[r]) < found.limits[r] for r, why in stops.items())


INVARIANT = Invariant(
    level="MUST",
    sentence="The first generated stop token finishes a request, whatever its value, even as the first token or the "
    'last allowed one; never a later one: "a request finishes when the model generates the stop token".',
    why="What follows a stop token is noise, and the slot that computes it is not free for anybody else.",
    seen_in=(
        "bigscience-workshop/lm-evaluation-harness#124",
        "lvyufeng/PocketLLM#133",
        "unslothai/unsloth#11039",
        "vllm-project/vllm#52693",
    ),
    does_not_say="Whether the stop token is returned (the dialect's axis `stop_token`, judged by output/own).",
    check=check,
    witness=witness,
    mutants=(
        Mutant("token == stop_token or", "(token == stop_token and index == 0) or"),
        Mutant("token == stop_token or", "(token == stop_token and len(slot.generated) > 1) or"),
        Mutant("token == stop_token or", "(stop_token and token == stop_token) or"),
        Mutant("token == stop_token or", "token is stop_token or"),
    ),
)
