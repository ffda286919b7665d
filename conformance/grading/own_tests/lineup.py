"""The implementations that a file of tests is run over: those of the dialect that it states."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Literal

import variants
import variants.flawed
from conformance.catalogue import CATALOGUE
from conformance.targets import PROFILES, REFERENCE, LocalImplementation, load, origin
from reference.vocabulary import Dialect

# Mutants, by invariant and number, that break nothing in some dialect, or only where equal rows differ.
HARMLESS = {("row/reply", 1), ("slot/held", 0), ("zero/untouched", 0), ("zero/untouched", 1)}
Role = Literal["right", "flawed", "should"]


@dataclass(frozen=True)
class Member:
    """One implementation. `role`: right; flawed, with `breaks` a MUST among them; or only against a SHOULD."""

    name: str
    path: Path
    role: Role
    breaks: tuple[str, ...] = ()


def lineup(dialect: Dialect, folder: Path) -> list[Member]:
    """The reference, the honest variants and the flawed ones of a dialect.

    Another dialect's are left out: a right one of those is wrong here, and what is wrong there may be right.
    Few flawed ones are written in another dialect than the default; there, the reference with one thing
    changed stands in, which is written into `folder`.
    """
    members = [Member(REFERENCE, _path(load(REFERENCE)), "right")]
    for honest in _loaded(variants):
        # One that answers a follow-up question as well is held to that question's promises, elsewhere.
        if honest.dialect == dialect and not any(map(honest.offers, PROFILES)):
            members.append(Member(honest.name, _path(honest), "right"))
    for flawed in _loaded(variants.flawed):
        breaks = flawed.module.BREAKS
        if flawed.dialect == dialect and all(name in CATALOGUE for name in breaks):
            role: Role = "flawed" if any(CATALOGUE[name].level == "MUST" for name in breaks) else "should"
            members.append(Member(flawed.name, _path(flawed), role, breaks))
    return members if dialect == Dialect() else members + list(mutants(dialect, folder))


def mutants(dialect: Dialect, folder: Path) -> Iterator[Member]:
    """The reference with one thing changed, for each change that breaks a promise in this dialect."""
    source = _path(load(REFERENCE)).read_text(encoding="utf-8")
    for name, invariant in CATALOGUE.items():
        if invariant.level == "SHOULD" or (name.startswith("pad/") and dialect.batch != "padded"):
            continue
        for number, mutant in enumerate(invariant.mutants):
            if (name, number) not in HARMLESS:
                path = folder / f"{invariant.anchor}-{number}.py"
                path.write_text(source.replace(mutant.find, mutant.replace), encoding="utf-8")
                yield Member(f"mutant.{invariant.anchor}.{number}", path, "flawed", (name,))


@cache
def _loaded(package: ModuleType) -> tuple[LocalImplementation, ...]:
    """The variants that offer `generate`."""
    names = [info.name for info in pkgutil.iter_modules(package.__path__) if not info.ispkg]
    found = (load(f"{package.__name__}.{name}") for name in names)
    return tuple(one for one in found if one.has_generate)


def _path(implementation: LocalImplementation) -> Path:
    return Path(origin(implementation.module))
