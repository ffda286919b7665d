"""failure/surfaces: an exception of the model is the caller's to handle."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.history import Raised, Returned, Unended
from conformance.invariant import Invariant, Mutant, Violation
from conformance.workloads import PASSED_ON


def check(found: Attribution) -> Violation | None:
    fault = found.run.workload.fault
    return surfaced(found) if fault and fault.exception in PASSED_ON else None


def surfaced(found: Attribution) -> Violation | None:
    """Find what became of the model's exception, if it is not what should."""
    failed, outcome, fault = found.failed, found.run.outcome, found.run.workload.fault
    if failed is None or not found.clean or fault is None:
        return None
    more = len(found.run.calls) - failed - 1
    if more:
        return Violation(failed + 1, f"no call after the one that raised {fault.exception}", f"{more} more")
    if isinstance(outcome, Returned):
        kept = f"a result: {dict(outcome.pairs)}" if not outcome.malformed else outcome.malformed
        return Violation(failed, f"the model's {fault.exception} to reach the caller", kept)
    if isinstance(outcome, Unended):
        return Violation(failed, f"the model's {fault.exception} to reach the caller", outcome.why)
    if isinstance(outcome, Raised) and not outcome.surfaced:
        wanted = f"the model's {fault.exception}, itself or chained"
        return Violation(failed, wanted, f"{outcome.kind}: {outcome.message}"[:300])
    return None


def witness(found: Attribution) -> bool:
    """The model raises, after some calls that it answered."""
    return bool(found.failed)


INVARIANT = Invariant(
    level="MUST",
    sentence="An exception of the model reaches the caller, itself or chained; the call is not repeated; nothing "
    "partial is returned.",
    why="A swallowed failure is an answer cut short that nobody can tell from a whole one.",
    seen_in=("vllm-project/vllm#17738", "ggml-org/llama.cpp#23652", "lmstudio-ai/mlx-engine#279"),
    does_not_say="Anything of StopIteration, of TimeoutError, and of what is no `Exception`; see failure/any-class.",
    check=check,
    witness=witness,
    situations=frozenset({"raises"}),
    evidence="reported",
    mutants=(
        Mutant(
            "        tokens = model.next_tokens(batch)",
            "        try:\n            tokens = model.next_tokens(batch)\n"
            "        except Exception:\n            return results",
        ),
        Mutant(
            "        tokens = model.next_tokens(batch)",
            "        try:\n            tokens = model.next_tokens(batch)\n        except Exception:\n"
            "            tokens = model.next_tokens(batch)",
        ),
        Mutant(
            "        tokens = model.next_tokens(batch)",
            "        try:\n            tokens = model.next_tokens(batch)\n"
            "        except Exception:\n            tokens = None\n"
            "        if tokens is None:\n            raise RuntimeError('failed')",
        ),
    ),
)
