"""preempt/lossless: to make room costs time and nothing else."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation
from conformance.fair.promise import first, promise
from conformance.fair.reading import FairReading
from conformance.fair.script import FairScript
from conformance.invariant import Mutant


def check(found: FairReading) -> EngineViolation | None:
    return first(found, "resumed wrong")


def witness(found: FairReading) -> bool:
    """Somebody who has yielded enters again."""
    return "somebody resumes" in found.occasions


INVARIANT = promise(
    sentence="A request that resumes continues from its exact prefix, its prompt and all that was generated for it: no "
    "token is generated twice, left out, emitted again or counted again.",
    why="Otherwise the reader gets the start of one attempt and the tail of another, marked as a success.",
    seen_in=(
        "sgl-project/sglang#39645",
        "vllm-project/vllm#42117",
        "vllm-project/vllm-gaudi#524",
        "GeeeekExplorer/nano-vllm#211",
    ),
    does_not_say="That nothing is computed twice: without a cache that is kept, the whole prefix is.",
    check=check,
    witness=witness,
    control=FairScript.without_yielding,
    mutants=(
        Mutant(
            "            self._waiting[sequence.request_id] = sequence\n",
            "            self._waiting[sequence.request_id] = sequence\n            sequence.generated.clear()\n",
        ),
        Mutant(
            "            self._waiting[sequence.request_id] = sequence\n",
            "            self._waiting[sequence.request_id] = sequence\n            sequence.generated.pop()\n",
        ),
        Mutant(
            "            self._waiting[sequence.request_id] = sequence\n",
            "            self._waiting[sequence.request_id] = sequence\n"
            "            sequence.prompt += sequence.generated\n"
            "            sequence.generated = []\n",
        ),
    ),
)
