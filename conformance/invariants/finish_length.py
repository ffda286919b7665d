"""finish/length: the limit ends a request, and nothing ends it sooner but the stop token."""

from __future__ import annotations

from conformance.absence import caused
from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation
from conformance.invariants.finish_stop import past_finish


def check(found: Attribution) -> Violation | None:
    more = past_finish(found, "length", "which has all the tokens that it may have")
    if more is not None:
        return more
    for absence in caused(found, "length"):
        done, limit = len(found.ledger.generated[absence.request]), found.limits[absence.request]
        name = found.name(absence.request)
        return Violation(
            absence.call,
            f"a row of {name}, which has {done} of {limit} tokens and no stop token",
            f"no row of {name}, in this call or later",
            absence.request,
        )
    return None


def witness(found: Attribution) -> bool:
    """A request reaches its limit without a stop token."""
    return "length" in found.ledger.finished.values()


INVARIANT = Invariant(
    level="MUST",
    sentence="`max_tokens` generated tokens finish a request, never more, and without a stop token never fewer: "
    '"... or when it has max_tokens tokens".',
    why="One token too many is a call for nothing; one too few is an answer cut short that looks complete.",
    seen_in=(
        "ggml-org/llama.cpp#4790",
        "ggml-org/llama.cpp#4047",
        "lmstudio-ai/lmstudio-bug-tracker#2335",
        "vllm-project/vllm#28172",
        "EvolvingLMMs-Lab/lmms-eval#1325",
    ),
    does_not_say="What `max_tokens` counts; that is the dialect's axis of the same name.",
    check=check,
    witness=witness,
    mutants=(
        Mutant("len(slot.generated) == dialect.limit", "len(slot.generated) > dialect.limit"),
        Mutant("len(slot.generated) == dialect.limit", "len(slot.generated) + 1 >= dialect.limit"),
        Mutant("token == stop_token or", "stop_token in tokens or"),
    ),
)
