"""arguments/rejected: nonsense is refused before any work is done."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.history import Raised
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    outcome = found.run.outcome
    if found.run.calls:
        return Violation(0, "ValueError before any call", f"{len(found.run.calls)} calls")
    if isinstance(outcome, Raised) and outcome.value_error:
        return None
    what = f"{outcome.kind}: {outcome.message}" if isinstance(outcome, Raised) else "no error"
    return Violation(0, f"ValueError, because {_wrong(found)}", what[:300])


def _wrong(found: Attribution) -> str:
    workload = found.run.workload
    if workload.num_slots < 1:
        return f"num_slots is {workload.num_slots}"
    if any(ask.max_tokens < 0 for ask in workload.asks):
        return "a max_tokens is negative"
    return "two requests have one id"


def witness(found: Attribution) -> bool:
    """The arguments are bad."""
    return not found.run.workload.legal


INVARIANT = Invariant(
    level="SHOULD",
    sentence="`num_slots` below 1, a negative `max_tokens` and duplicate ids give ValueError before any call.",
    why="A loop without slots never ends, and of two requests with one id one answer is lost.",
    seen_in=("vllm-project/vllm#10583", "ggml-org/llama.cpp#9933"),
    does_not_say="Anything of the message.",
    check=check,
    witness=witness,
    situations=frozenset({"arguments"}),
    mutants=(
        Mutant("    check_arguments(requests, num_slots)\n", ""),
        Mutant("    check_arguments(requests, num_slots)\n", "    check_arguments(requests[:1], num_slots)\n"),
    ),
)
