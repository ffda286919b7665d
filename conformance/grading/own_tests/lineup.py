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
    for honest in _loaded(variants):
        # One that answers a follow-up question as well is held to that question's promises, elsewhere.
        if honest.dialect == dialect and not any(map(honest.offers, PROFILES)):
            members.append(Member(honest.name, _path(honest), "right"))
    for implementation in _loaded(variants.flawed):
        breaks = implementation.module.BREAKS
        if implementation.dialect == dialect and all(name in CATALOGUE for name in breaks):
            role: Role = "flawed" if any(CATALOGUE[name].level == "MUST" for name in breaks) else "should"
            members.append(Member(implementation.name, _path(implementation), role, breaks))
    return members


def _loaded(package: ModuleType) -> Iterator[LocalImplementation]:
    """The variants that offer `generate`."""
    for info in pkgutil.iter_modules(package.__path__):
        if not info.ispkg:
            implementation = load(f"{package.__name__}.{info.name}")
            if implementation.has_generate:
                yield implementation


def _path(implementation: LocalImplementation) -> Path:
    return Path(origin(implementation.module))
