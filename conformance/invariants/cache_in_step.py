"""cache/in-step: the line keeps step with the request."""

from __future__ import annotations

from conformance.attribution import Attribution
from conformance.cached.attribution import slipped
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    return slipped(found, "step")


def witness(found: Attribution) -> bool:
    """A request goes on after its first token."""
    return any(len(tokens) > 1 for tokens in found.ledger.generated)


INVARIANT = Invariant(
    level="MUST",
    sentence="While a request is in progress its line holds exactly what was sent of its prefix, prompt and generated "
    "tokens in order, each token written once; a row brings what comes next, and its reply counts once nothing is "
    "missing.",
    why="The reply depends on every token in the line. One that is missing, doubled or somebody else's gives a "
    "plausible answer to another question; one that is written again is the work that the cache was to save.",
    seen_in=("vllm-project/vllm-gaudi#524", "vllm-project/vllm#43810"),
    does_not_say="In how many pieces a prompt is written. A token that is another row's reply is row/reply's; a "
    "newcomer's first row that is no prompt is row/prefix's.",
    check=check,
    witness=witness,
    situations=frozenset({"plain", "sampled", "raises"}),
    profile="cached",
    mutants=(
        Mutant("slot.unwritten = [token]", "slot.unwritten = [token, token]"),
        Mutant("slot.unwritten = [token]", "slot.unwritten = [*slot.request.prompt, *slot.generated]"),
        Mutant("slot.unwritten = [token]", "slot.unwritten = [(slot.request.prompt or [token])[-1]]"),
        Mutant(
            "                    slots[index] = None\n                    model.reset(index)",
            "                    slots[index] = None\n                    for line in range(num_slots):\n"
            "                        model.reset(line)",
        ),
    ),
)
