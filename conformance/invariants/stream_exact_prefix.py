"""stream/exact-prefix: what the model sees of a running request."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "malformed rows", "wrong row", "row twice", "unknown row", "not held")


INVARIANT = promise(
    sentence="A running request has one row in every call until it ends: its prompt and all that was generated for it, "
    "whoever comes, goes or finishes meanwhile.",
    why="One wrong or missing token in a prefix changes everything after it, and still reads like an answer.",
    seen_in=(
        "ml-explore/mlx-lm#1772",
        "tenstorrent/tt-xla#4190",
        "sgl-project/sglang#32549",
    ),
    does_not_say="Anything of the order of the rows; it is free, in every call anew.",
    check=check,
    witness=occasion("a row with output"),
    mutants=(
        Mutant(
            "return [*self.prompt, *self.generated]",
            "return [*self.prompt]",
        ),
        Mutant(
            "return [*self.prompt, *self.generated]",
            "return self.generated[-1:] or [*self.prompt]",
        ),
        Mutant(
            "        running = [sequence for sequence in self._slots if sequence is not None]\n",
            "        running = [sequence for sequence in self._slots if sequence is not None]\n"
            "        if any(not sequence.generated for sequence in running):\n"
            "            running = [sequence for sequence in running if not sequence.generated]\n",
        ),
    ),
)
