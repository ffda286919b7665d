"""run/ends: the loop comes to its end, and not too soon."""

from __future__ import annotations

from conformance.absence import caused
from conformance.attribution import Attribution
from conformance.history import Raised, Unended
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    outcome, end = found.run.outcome, len(found.run.calls)
    if not found.clean:
        return None
    if isinstance(outcome, Unended):
        return Violation(end, "the run to return", outcome.why)
    if isinstance(outcome, Raised) and found.failed is None:
        return Violation(end, "the run to return", f"{outcome.kind} was raised: {outcome.message}"[:300])
    early = [absence.request for absence in caused(found, "ends")]
    if early:
        return Violation(
            end, f"another call, because {found.names(early)} had not finished", "the run returned", early[0]
        )
    return None


def witness(found: Attribution) -> bool:
    """Requests of different lengths end the run at different times."""
    return len({len(tokens) for tokens in found.ledger.generated}) > 1


INVARIANT = Invariant(
    level="MUST",
    sentence='The run returns, and not before every request has finished: it goes on "until all are done".',
    why="A loop that waits for ever looks healthy to every probe; one that leaves early loses answers silently.",
    seen_in=(
        "vllm-project/vllm#10583",
        "huggingface/text-generation-inference#2754",
        "sgl-project/sglang-jax#56",
        "NVIDIA/TensorRT-LLM#340",
    ),
    does_not_say="How long it may take; a run is stopped after more calls than any right one makes, or a time limit.",
    check=check,
    witness=witness,
    mutants=(
        Mutant("        if not occupied:", "        if not occupied or any(results.values()):"),
        Mutant(
            "        if not occupied:\n",
            "        if len(requests) > 2 and not occupied:\n            raise IndexError\n        if not occupied:\n",
        ),
    ),
)
