"""run/independent: every run is the first one."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    """Judge nothing: no single run can show it. The evidence legs charge it to a session that fails where its
    last run alone, in a fresh process, passes.
    """
    return None


def witness(found: Attribution) -> bool:
    """There is a run to come after another one."""
    return bool(found.owners)


INVARIANT = Invariant(
    level="MUST",
    sentence="A run depends on nothing that an earlier or interleaved run did, failed ones included: violated where a "
    "run fails in a session and passes alone.",
    why="The question's function has no state; a server that answers the second user from the first one's leftovers "
    "is the worst of all.",
    seen_in=("unslothai/unsloth-zoo#99", "vllm-project/vllm#17738", "Luce-Org/lucebox#210", "ggml-org/llama.cpp#27148"),
    does_not_say="Anything of what starts after the last run that was tried.",
    check=check,
    witness=witness,
    mutants=(
        Mutant(
            "    results: dict[str, list[int]] = {request.request_id: [] for request in requests}",
            "    results: dict[str, list[int]] = globals().setdefault('_kept', {})\n"
            "    results.update({request.request_id: [] for request in requests})",
        ),
    ),
)
