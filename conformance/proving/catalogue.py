"""Every theorem, group by group; a group is imported when it is asked for, and deciding nothing takes no time."""

from __future__ import annotations

import importlib
from collections.abc import Collection

from conformance.proving.theorem import GROUPS, Group, Theorem

SOURCES: dict[Group, tuple[str, str]] = {
    "z3": ("provers", "z3_theorems"),
    "dafny": ("provers", "dafny_theorems"),
    "crosshair": ("symbolic", "crosshair_theorems"),
    "bridge": ("bridges", "bridge_theorems"),
}


def theorems(groups: Collection[str] = GROUPS, containing: str = "") -> list[Theorem]:
    """List the theorems of `groups` whose name or statement contains a text, in any case of letters."""
    chosen = []
    for group, (module, function) in SOURCES.items():
        if not groups or group in groups:
            make = getattr(importlib.import_module(f"conformance.proving.{module}"), function)
            chosen += [theorem for theorem in make() if matches(theorem, containing)]
    return chosen


def matches(theorem: Theorem, containing: str) -> bool:
    return containing.casefold() in f"{theorem.name} {theorem.statement}".casefold()
