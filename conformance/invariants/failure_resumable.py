"""failure/resumable: a step that failed can be made again."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.engine.script import Script
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "swallowed", "replaced", "lost after a failure", "ending lost in a failure")


INVARIANT = promise(
    sentence="When the model raises, the step raises it, itself or chained, and has changed nothing: endings that were "
    "due stay due; step again, or abort the offender and step, and nothing is lost, repeated or mixed up.",
    why="Out of memory is an everyday event. An engine that has half moved on when it strikes gives one user's "
    "tokens to another from then on.",
    seen_in=(
        "vllm-project/vllm#17738",
        "ggml-org/llama.cpp#23652",
        "vllm-project/vllm#1470",
    ),
    does_not_say="Which request was the offender, or that an engine repeats a call by itself: its caller decides.",
    check=check,
    witness=occasion("step after a failure"),
    control=Script.without_failures,
    mutants=(
        Mutant(
            "        tokens = self._model.next_tokens([sequence.prefix() if sequence else [] for "
            "sequence in sent])\n"
            "        if len(tokens) != len(sent):\n"
            '            raise ValueError(f"the model returned {len(tokens)} tokens for {len(sent)} rows")\n'
            "        outputs = self._deliver()\n",
            "        outputs = self._deliver()\n"
            "        tokens = self._model.next_tokens([sequence.prefix() if sequence else [] for "
            "sequence in sent])\n",
        ),
        Mutant(
            "        tokens = self._model.next_tokens([sequence.prefix() if sequence else [] for sequence in sent])\n",
            "        try:\n"
            "            tokens = self._model.next_tokens([sequence.prefix() if sequence else [] for "
            "sequence in sent])\n"
            "        except Exception:\n"
            "            self._slots = [None] * len(self._slots)\n"
            "            raise\n",
        ),
        Mutant(
            "        tokens = self._model.next_tokens([sequence.prefix() if sequence else [] for sequence in sent])\n",
            "        try:\n"
            "            tokens = self._model.next_tokens([sequence.prefix() if sequence else [] for "
            "sequence in sent])\n"
            "        except Exception:\n"
            "            return self._deliver()\n",
        ),
    ),
)
