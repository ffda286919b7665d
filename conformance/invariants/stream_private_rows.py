"""stream/private-rows: what is handed over is given away."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.engine.script import Script
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    fault = next(iter(found.faults), None)
    return first(found, fault.cause) if fault is not None else None


INVARIANT = promise(
    level="SHOULD",
    sentence="What the model does to the lists that it was handed changes no later row and no output.",
    why="Models pad, sort and truncate their input in place; an engine that lends out its own lists is changed "
    "with them.",
    seen_in=("sgl-project/sglang#17323",),
    does_not_say="Anything of callers that change a prompt after they have added it.",
    check=check,
    witness=occasion("a token"),
    situations=frozenset({"tampers"}),
    control=Script.untampered,
    mutants=(
        Mutant(
            "return [*self.prompt, *self.generated]",
            "return [*self.prompt, *self.generated] if self.generated else self.prompt",
        ),
        Mutant(
            "        tokens = self._model.next_tokens([sequence.prefix() if sequence else [] for sequence in sent])\n",
            "        batch = [sequence.prefix() if sequence else [] for sequence in sent]\n"
            "        tokens = self._model.next_tokens(batch)\n"
            "        sent = sent[: len(batch)]\n"
            "        tokens = tokens[: len(sent)]\n",
        ),
    ),
)
