"""Whether a module offers the cached profile, and its `generate_cached` as an implementation."""

from __future__ import annotations

from types import ModuleType

from conformance.targets import LocalImplementation, load
from reference.vocabulary import Dialect

OFFERED = "generate_cached"
REFERENCE = "reference.cached"


def of_module(name: str, module: ModuleType, dialect: Dialect | None = None) -> LocalImplementation:
    """The implementation that `module` offers under the profile's name; `dialect` overrides what it declares."""
    return LocalImplementation(name, module, OFFERED, dialect)


def load_cached(target: str, dialect: Dialect | None = None) -> LocalImplementation:
    """Load a module or file that offers `generate_cached`. Raises TargetError where it does not."""
    return load(f"{target}:{OFFERED}", dialect)
