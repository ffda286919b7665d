"""slot/held: who has a slot is in every call until it finishes."""

from __future__ import annotations

from conformance.absence import caused
from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    for absence in caused(found, "held"):
        name = found.name(absence.request)
        return Violation(
            absence.call,
            f"a row of {name}, which has been admitted and has not finished",
            f"no row of {name} in this call, but one in a later call",
            absence.request,
        )
    return None


def witness(found: Attribution) -> bool:
    """A request runs for more than one call while another one waits."""
    more = sum(map(bool, found.limits)) > found.run.workload.num_slots
    return more and any(len(tokens) > 1 for tokens in found.ledger.generated)


INVARIANT = Invariant(
    level="MUST",
    sentence='A request, once admitted, is in every call until it finishes: "a slot holds one request in progress".',
    why="Skipping a request's turn delays its reader; giving its slot away means computing its prefix again.",
    seen_in=("ggml-org/llama.cpp#27185", "NVIDIA/TensorRT-LLM#13278"),
    does_not_say="That preemption is wrong as such: the fair profile allows it and replaces this promise.",
    check=check,
    witness=witness,
    mutants=(
        Mutant(
            "        occupied = [index for index, slot in enumerate(slots) if slot is not None]",
            "        occupied = [index for index, slot in enumerate(slots) if slot is not None]\n"
            "        if len(occupied) > 1 and sum(len(s.generated) for s in slots if s) == 1:\n"
            "            occupied = [index for index in occupied if not slots[index].generated]",
        ),
    ),
)
