"""failure/resumable-odd-reply: a reply of the wrong length is a failed call."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.engine.script import Script
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "odd reply taken", "lost after an odd reply")


INVARIANT = promise(
    level="SHOULD",
    sentence="A reply that has not one token a row is an error of the step, which has changed nothing then.",
    why="Zipped away in silence, the last request of the batch stands still, or a token finds nobody.",
    seen_in=("torch-spyre/sendnn-inference#33",),
    does_not_say="Which error.",
    check=check,
    witness=occasion("failed call"),
    control=Script.without_failures,
    mutants=(
        Mutant(
            "        if len(tokens) != len(sent):\n"
            '            raise ValueError(f"the model returned {len(tokens)} tokens for {len(sent)} rows")\n'
            "        outputs = self._deliver()\n"
            "        for sequence, token in zip(sent, tokens, strict=True):\n",
            "        outputs = self._deliver()\n        for sequence, token in zip(sent, tokens, strict=False):\n",
        ),
    ),
)
