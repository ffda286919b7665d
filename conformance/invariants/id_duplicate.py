"""id/duplicate: two requests cannot have one name."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, first, occasion, promise
from conformance.engine.reading import Reading
from conformance.engine.script import Script
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    return first(found, "duplicate taken", "lost to a duplicate")


INVARIANT = promise(
    sentence="`add_request` with the id of a live request is a ValueError, and the live request goes on as if nothing "
    "had been.",
    why="Outputs are told apart by ids alone. Two with one id lose one of them, and mostly it is the first.",
    seen_in=(
        "vllm-project/vllm#10583",
        "huggingface/transformers#48918",
    ),
    does_not_say="Anything of ids whose request has ended or was aborted (id/reusable).",
    check=check,
    witness=occasion("duplicate"),
    control=Script.without_duplicates,
    mutants=(
        Mutant(
            "        if request.request_id in self._live:\n",
            "        if request.request_id in self._waiting:\n",
        ),
        Mutant(
            "        if request.request_id in self._live:\n",
            "        if request.request_id in self._live:\n            self._waiting.pop(request.request_id, None)\n",
        ),
    ),
)
