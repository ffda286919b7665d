"""Whether a module offers the fair profile, and its `Engine` as something to study."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from types import ModuleType
from typing import Protocol

from conformance.engine.drive import Make
from conformance.targets import load
from reference.vocabulary import Dialect

REFERENCE = "reference.fair"


class Studied(Protocol):
    """An engine to study, in this process or in another one. `fresh` makes engines of which nothing ran before."""

    @property
    def name(self) -> str: ...

    @property
    def dialect(self) -> Dialect: ...

    def make(self, quantum: int) -> Make: ...

    def fresh(self, quantum: int) -> Make: ...


@dataclass(frozen=True)
class Subject:
    """An engine with a quantum; `again` executes its module once more, so that nothing is left of earlier engines."""

    name: str
    module: ModuleType
    dialect: Dialect
    again: Callable[[], ModuleType]

    @cached_property
    def _options(self) -> dict[str, Dialect]:
        return {"dialect": self.dialect} if "dialect" in parameters(self.module) else {}

    def make(self, quantum: int) -> Make:
        """The way to build an engine."""
        return partial(self.module.Engine, quantum=quantum, **self._options)

    def fresh(self, quantum: int) -> Make:
        """The same with a module of its own."""
        return partial(self.again().Engine, quantum=quantum, **self._options)


def parameters(module: ModuleType) -> frozenset[str]:
    """What the module's `Engine` takes; nothing where it has none."""
    try:
        return frozenset(inspect.signature(module.Engine).parameters)
    except (AttributeError, TypeError, ValueError):
        return frozenset()


def offers(module: ModuleType) -> bool:
    """Whether the profile applies: `Engine` takes a `quantum`."""
    return "quantum" in parameters(module)


def subject(target: str, dialect: Dialect | None = None) -> Subject:
    """Load a module or a file. Raises TargetError where it cannot be had."""
    implementation = load(target, dialect)
    return Subject(target, implementation.module, implementation.dialect, lambda: implementation.fresh().module)
