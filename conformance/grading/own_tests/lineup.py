"""The implementations that a file of tests is run over: those of the dialect that it states."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal

import variants
import variants.flawed
from conformance.catalogue import CATALOGUE
from conformance.targets import PROFILES, REFERENCE, LocalImplementation, load, origin
from reference.vocabulary import Dialect

Role = Literal["right", "flawed", "should"]


@dataclass(frozen=True)
class Member:
    """One implementation. `role`: right; flawed, with `breaks` a MUST among them; or only against a SHOULD."""

    name: str
    path: Path
    role: Role
    breaks: tuple[str, ...] = ()


def lineup(dialect: Dialect) -> list[Member]:
    """The reference, the honest variants and the flawed ones of a dialect.

    Another dialect's are left out: a right one of those is wrong here, and what is wrong there may be right.
    """
    members = [Member(REFERENCE, _path(load(REFERENCE)), "right")]
    members += [Member(i.name, _path(i), "right") for i in _loaded(variants) if i.dialect == dialect]
    for implementation in _loaded(variants.flawed):
        breaks = tuple(name for name in implementation.module.BREAKS if name in CATALOGUE)
        if implementation.dialect == dialect and breaks:
            role: Role = "flawed" if any(CATALOGUE[name].level == "MUST" for name in breaks) else "should"
            members.append(Member(implementation.name, _path(implementation), role, breaks))
    return members


def _loaded(package: ModuleType) -> Iterator[LocalImplementation]:
    """The variants that answer the question itself, and no follow-up question."""
    for info in pkgutil.iter_modules(package.__path__):
        if not info.ispkg:
            implementation = load(f"{package.__name__}.{info.name}")
            if implementation.has_generate and not any(map(implementation.offers, PROFILES)):
                yield implementation


def _path(implementation: LocalImplementation) -> Path:
    return Path(origin(implementation.module))
