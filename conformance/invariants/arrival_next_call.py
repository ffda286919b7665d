"""arrival/next-call: who arrives while others run does not wait for them."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "arrival refused", "not admitted")


INVARIANT = promise(
    sentence="A request can be added at any time, and is in the very next call if a slot is free for it; a step makes "
    "that call.",
    why="This is what makes batching continuous for people who come one after another: nobody waits for a batch "
    "to be over. A slot that idles one step in ten costs a tenth of the throughput.",
    seen_in=(
        "EricLBuehler/candle-vllm#156",
        "inferencerlabs/inferencer-feedback#80",
        "vllm-project/vllm#10890",
        "NVIDIA/TensorRT-LLM#16279",
    ),
    does_not_say="Who is first where several wait (arrival/fifo), or what becomes of a slot that an abort frees "
    "(abort/frees-slot).",
    check=check,
    witness=occasion("arrival while others run"),
    mutants=(
        Mutant(
            "        self._admit()\n        running = [sequence for sequence in self._slots if sequence is not None]\n",
            "        running = [s for s in self._slots if s is not None and s.finish_reason is None]\n"
            "        self._admit()\n"
            "        running = running or [s for s in self._slots if s is not None]\n",
        ),
        Mutant(
            "self._slots[index] = self._waiting.popitem(last=False)[1] if self._waiting else None",
            "self._slots[index] = self._waiting.popitem(last=False)[1] if self._waiting and not "
            "self._live.keys() - self._waiting else None",
        ),
    ),
)
