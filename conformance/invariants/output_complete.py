"""output/complete: everybody gets an answer, and nobody else."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.history import Returned
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    outcome, end = found.run.outcome, len(found.run.calls)
    if not isinstance(outcome, Returned) or found.failed is not None:
        return None
    if outcome.malformed:
        return Violation(end, "a dict from request id to a list of ints", outcome.malformed)
    wanted, got = [ask.request_id for ask in found.run.workload.asks], [key for key, _ in outcome.pairs]
    missing, foreign = [i for i in wanted if i not in got], [i for i in got if i not in wanted]
    if missing or foreign or len(got) != len(wanted):
        what = f"no entry for {', '.join(map(repr, missing))}" if missing else f"entries for {got}"
        return Violation(end, f"exactly the ids {wanted} as keys", what)
    return None


def witness(found: Attribution) -> bool:
    """There are several requests, or none at all."""
    return len(found.limits) != 1


INVARIANT = Invariant(
    level="MUST",
    sentence='The result has exactly the ids of `requests` as keys, each with a list of ints: "the generated tokens '
    'of every request, keyed by request_id".',
    why="A request that vanishes is noticed by nobody but its owner.",
    seen_in=("vllm-project/vllm#891", "vllm-project/vllm#394"),
    does_not_say="In which order the keys stand.",
    check=check,
    witness=witness,
    at_end=True,
    mutants=(
        Mutant("            return results", "            return {k: v for k, v in results.items() if v}"),
        Mutant("            return results", "            return {k: v for k, v in results.items() if k}"),
        Mutant("            return results", "            return {k: tuple(v) for k, v in results.items()}"),
    ),
)
