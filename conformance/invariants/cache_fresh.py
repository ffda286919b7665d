"""cache/fresh: a newcomer finds its line empty."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.cached.attribution import cached, slipped
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    return slipped(found, "stale")


def witness(found: Attribution) -> bool:
    """A request enters a slot in which another one was before it."""
    slots = [slot for forward in cached(found).cached.forwards for slot, _ in forward.rows]
    return len(set(slots)) < len(found.ledger.admitted)


INVARIANT = Invariant(
    level="MUST",
    sentence="A slot's cache line is empty when a request enters the slot, whoever was there before: in this run, or "
    "in an earlier run with the same model.",
    why="The model reads the whole line. What the former owner left is read as the beginning of the newcomer's prompt, "
    "and one user's text turns up in another's answer.",
    seen_in=(
        "waybarrios/vllm-mlx#384",
        "Luce-Org/lucebox#210",
        "ggml-org/llama.cpp#27148",
    ),
    does_not_say="When the line is emptied: at the finish, or at the next admission; see cache/released. That a common "
    "beginning may not be kept: a cache that shares prefixes on purpose is another interface.",
    check=check,
    witness=witness,
    situations=frozenset({"plain", "sampled", "raises"}),
    profile="cached",
    implied_by=("row/prefix", "cache/in-step", "finish/stop"),
    mutants=(
        Mutant("                    model.reset(index)\n    finally", "    finally"),
        Mutant(
            "                    model.reset(index)\n    finally",
            "                    if token == stop_token:\n                        model.reset(index)\n    finally",
        ),
        Mutant(
            "                    model.reset(index)\n    finally",
            "                    model.reset(0)\n    finally",
        ),
    ),
)
