"""id/independent: every engine is the only one."""

from __future__ import annotations

from conformance.engine.promise import EngineViolation, occasion, promise
from conformance.engine.reading import Reading
from conformance.invariant import Mutant


def check(found: Reading) -> EngineViolation | None:
    """Judge nothing: it takes two engines to show it. The study charges what goes wrong beside another engine,
    and is right alone.
    """
    return None


INVARIANT = promise(
    sentence="Engines share nothing: what is live, running or owed in one is unknown to another, also where their "
    "steps are interleaved or nested.",
    why="Two models in one process, or one test after another, meet in what is kept by the class or the module.",
    seen_in=("unslothai/unsloth-zoo#99",),
    does_not_say="Anything of a model or a device that they share.",
    check=check,
    witness=occasion("a token"),
    mutants=(
        Mutant(
            "        self._live: dict[str, Sequence] = {}\n",
            '        self._live: dict[str, Sequence] = globals().setdefault("_shared", {})\n',
        ),
        Mutant(
            "        self._waiting: OrderedDict[str, Sequence] = OrderedDict()\n",
            '        self._waiting: OrderedDict[str, Sequence] = globals().setdefault("_queue", OrderedDict())\n',
        ),
    ),
)
