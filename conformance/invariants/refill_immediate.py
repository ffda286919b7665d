"""refill/immediate: a freed slot is used in the very next call."""

from __future__ import annotations

from conformance.absence import caused
from conformance.attribution import Attribution
from conformance.invariant import Invariant, Mutant, Violation


def check(found: Attribution) -> Violation | None:
    idle = caused(found, "refill")
    if not idle or found.divergence is None:
        return None
    split = found.divergence
    waiting = found.names([absence.request for absence in idle])
    wanted, free = len(split.required), found.run.workload.num_slots - len(split.running)
    return Violation(
        split.call,
        f"{wanted} {_sequences(wanted)}, because {waiting} {_wait(len(idle))} and {free} of "
        f"{found.run.workload.num_slots} slots {'is' if free == 1 else 'are'} free",
        f"{split.size} {_sequences(split.size)}",
        idle[0].request,
    )


def _sequences(count: int) -> str:
    return "sequence" if count == 1 else "sequences"


def _wait(count: int) -> str:
    return "waits" if count == 1 else "wait"


def witness(found: Attribution) -> bool:
    """A slot is freed while a request waits, and another request goes on."""
    return len(found.owners) > 1 and sum(map(bool, found.limits)) > found.run.workload.num_slots > 1


INVARIANT = Invariant(
    level="MUST",
    sentence="No slot is idle at a call while a request waits: a call has min(num_slots, unfinished) sequences, "
    'because "a freed slot is refilled from the waiting queue before the next model call".',
    why="This is the whole gain of continuous over static batching. A slot that idles one step in ten costs a tenth "
    "of the throughput, and nothing looks wrong in the outputs.",
    seen_in=(
        "inferencerlabs/inferencer-feedback#80",
        "EricLBuehler/candle-vllm#156",
        "NVIDIA/TensorRT-LLM#16279",
        "ggml-org/llama.cpp#14073",
        "vllm-project/vllm#53130",
    ),
    does_not_say="Anything of a request that was admitted and is missing from a call (slot/held), or of slots that "
    "idle when nobody waits.",
    check=check,
    witness=witness,
    mutants=(
        Mutant(
            "        for index, slot in enumerate(slots):\n            if slot is None and waiting:",
            "        for index in [i for i, s in enumerate(slots) if s is None][: 1 if any(slots) else None]:\n"
            "            if waiting:",
        ),
        Mutant(
            "        for index, slot in enumerate(slots):\n            if slot is None and waiting:",
            "        for index, slot in enumerate(() if any(slots) else slots):\n"
            "            if slot is None and waiting:",
        ),
    ),
)
