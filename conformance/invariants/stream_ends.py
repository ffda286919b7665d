"""stream/ends: stepping comes to an end."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "not built", "crashed", "never ends")


INVARIANT = promise(
    sentence="Steps return, raise nothing but what the model raised, and bring every request to its ending.",
    why="A loop that dies for one request takes everybody's with it.",
    seen_in=(
        "m87-labs/kestrel#135",
        "sgl-project/sglang-jax#56",
        "lmstudio-ai/mlx-engine#279",
    ),
    does_not_say="How many seconds a step may take.",
    check=check,
    witness=occasion("a token"),
    mutants=(
        Mutant(
            "            return self._deliver()\n",
            "            return self._deliver() if self._ended else self.step()\n",
        ),
        Mutant(
            "            del self._live[sequence.request_id]\n        shown",
            "            del self._live[str(token) if stopped else sequence.request_id]\n        shown",
        ),
    ),
)
