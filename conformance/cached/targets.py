"""Whether a module offers the cached profile, and its `generate_cached` as an implementation."""

from __future__ import annotations

from types import ModuleType
from typing import Protocol

from conformance.run import Generate
from conformance.targets import LocalImplementation, load
from reference.vocabulary import Dialect


class Studied(Protocol):
    """A `generate_cached` to study, in this process or in another one; nothing ran before in what `fresh` gives."""

    @property
    def name(self) -> str: ...

    @property
    def dialect(self) -> Dialect: ...

    @property
    def generate(self) -> Generate: ...

    def fresh(self) -> Studied: ...


OFFERED = "generate_cached"
REFERENCE = "reference.cached"


def of_module(name: str, module: ModuleType, dialect: Dialect | None = None) -> LocalImplementation:
    """The implementation that `module` offers under the profile's name; `dialect` overrides what it declares."""
    return LocalImplementation(name, module, OFFERED, dialect)


def load_cached(target: str, dialect: Dialect | None = None) -> LocalImplementation:
    """Load a module or file that offers `generate_cached`. Raises TargetError where it does not."""
    return load(f"{target}:{OFFERED}", dialect)
