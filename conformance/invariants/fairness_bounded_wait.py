"""fairness/bounded-wait: nobody waits longer than those ahead of it explain."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation
from conformance.fair.promise import promise
from conformance.fair.reading import FairReading
from conformance.invariant import Mutant


def check(found: FairReading) -> EngineViolation | None:
    late = found.watch.late
    if late is None:
        return None
    expected = f"{late.request_id!r}, with {late.ahead} ahead of it, to run in {late.most} calls that count"
    observed = f"{late.most} calls without it"
    return EngineViolation(late.step, expected, observed, event=late.event, cause="late", request_id=late.request_id)


def witness(found: FairReading) -> bool:
    """A request comes while another one waits, and somebody yields."""
    return {"waits behind another", "somebody yields"} <= found.occasions


INVARIANT = promise(
    sentence="With j requests waiting ahead, a request first runs at the latest in call "
    "ceil((j + 1) / num_slots) * quantum after its arrival. A call that is under way then does not count, nor does "
    "one that failed or repeats one that failed: with it, it is one call more.",
    why="The wait depends on how many wait, never on how long they will be. First in, first out without a quantum "
    "lets num_slots long requests keep everybody out until one of them is done.",
    seen_in=("sgl-project/sglang#32549", "vllm-project/vllm#40004"),
    does_not_say="When a request has its second turn, or ends: that depends on who comes after it.",
    check=check,
    witness=witness,
    implied_by=("preempt/turn", "preempt/back", "preempt/lossless", "arrival/fifo", "arrival/next-call"),
    mutants=(
        Mutant(
            "for sequence in due[: len(self._waiting)]:",
            "for sequence in due[:0]:",
        ),
        Mutant(
            "            self._waiting[sequence.request_id] = sequence\n",
            "            self._waiting[sequence.request_id] = sequence\n"
            "            self._waiting.move_to_end(sequence.request_id, last=False)\n",
        ),
    ),
)
