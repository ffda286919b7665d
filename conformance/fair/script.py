"""An input of an engine with a quantum: a script of the engine profile, and the quantum."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from conformance.engine.script import Script, smaller

NEVER = 10**6  # a quantum that no request of ours reaches


@dataclass(frozen=True)
class FairScript(Script):
    """One engine's input."""

    quantum: int = 1

    @classmethod
    def turned(cls, script: Script, quantum: int) -> FairScript:
        """Take a script of the engine profile, and give it a quantum."""
        return cls(**{**vars_of(script), "quantum": quantum})

    def without_yielding(self) -> FairScript:
        """Nobody has had its quantum, ever."""
        return replace(self, quantum=NEVER)

    def size(self) -> tuple[int, ...]:
        """An order for shrinking, as in the engine profile; then a smaller quantum."""
        return (*super().size(), self.quantum)

    def code(self) -> str:
        """Print as code that can be pasted."""
        return f"Fair{super().code()[:-1]}, quantum={self.quantum})"


def vars_of(script: Script) -> dict[str, Any]:
    """The fields of a script, without what it has worked out from them."""
    return {name: getattr(script, name) for name in Script.__dataclass_fields__}


def smaller_fair(script: FairScript) -> Iterable[FairScript]:
    """Yield the script with something left out or brought forward, or with a smaller quantum."""
    for other in smaller(script):
        assert isinstance(other, FairScript)
        yield other
    if script.quantum > 1:
        yield replace(script, quantum=script.quantum - 1)
