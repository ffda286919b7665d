"""Whether a module offers the engine profile, and its `Engine` as something to study."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

from conformance.engine.drive import Make, maker
from conformance.targets import load
from reference.vocabulary import Dialect

REFERENCE, OFFERED = "reference.engine", "Engine"


class Studied(Protocol):
    """An engine to study, in this process or in another one. `fresh` makes engines of which nothing ran before."""

    @property
    def name(self) -> str: ...

    @property
    def dialect(self) -> Dialect: ...

    def make(self) -> Make: ...

    def fresh(self) -> Make: ...


@dataclass(frozen=True)
class Subject:
    """An engine to study; `again` executes its module once more, so that nothing is left of earlier engines."""

    name: str
    module: ModuleType
    dialect: Dialect
    again: Callable[[], ModuleType]

    def make(self) -> Make:
        return maker(self.module, self.dialect)

    def fresh(self) -> Make:
        return maker(self.again(), self.dialect)


def subject(target: str, dialect: Dialect | None = None) -> Subject:
    """Load a module or a file. Raises TargetError where it cannot be had."""
    found = load(target, dialect)
    return Subject(target, found.module, found.dialect, lambda: found.fresh().module)


def lacks(module: ModuleType) -> str:
    """Say why the profile does not apply to a module, or nothing where it does."""
    engine = getattr(module, OFFERED, None)
    if not callable(engine):
        return f"it offers no {OFFERED}"
    try:
        options = inspect.signature(engine).parameters.values()
    except (TypeError, ValueError):
        return ""
    needed = [o.name for o in options if o.kind is o.KEYWORD_ONLY and o.default is o.empty]
    return f"its {OFFERED} needs {', '.join(needed)}, so that it is of another profile" if needed else ""
