"""The catalogue: every file of `invariants/`, found by looking, and the judgement of one run by all of them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass, replace

from conformance import invariants
from conformance.attribution import Attribution, attribute
from conformance.history import Run
from conformance.invariant import Invariant, Violation
from reference.vocabulary import Dialect


def identifier(module: str) -> str:
    """Turn a file's name into its invariant's: the first word is the subject, the rest the quality."""
    subject, _, quality = module.partition("_")
    return f"{subject}/{quality.replace('_', '-')}"


def _discover() -> dict[str, Invariant]:
    found = {}
    for info in pkgutil.iter_modules(invariants.__path__):
        invariant: Invariant = importlib.import_module(f"{invariants.__name__}.{info.name}").INVARIANT
        found[identifier(info.name)] = replace(invariant, name=identifier(info.name))
    return found


EVERY = _discover()
CATALOGUE = {name: invariant for name, invariant in EVERY.items() if invariant.profile == "core"}
MUST = tuple(i for i in CATALOGUE.values() if i.level == "MUST")
SHOULD = tuple(i for i in CATALOGUE.values() if i.level == "SHOULD")


@dataclass(frozen=True)
class Judgement:
    """One run, judged: `violations` by invariant; `judged` could be told, `blocked` could not.

    A run whose calls go wrong says nothing about promises that come later: they are blocked.
    """

    attribution: Attribution
    violations: dict[str, Violation]
    judged: frozenset[str]
    blocked: frozenset[str]


def judge(run: Run, dialect: Dialect, catalogue: Iterable[Invariant] | None = None) -> Judgement:
    """Judge one run by every invariant that speaks of its situation."""
    found = attribute(run, dialect)
    situation = run.workload.situation
    spoken = [i for i in (catalogue or CATALOGUE.values()) if situation in i.situations]
    if situation == "plain" and catalogue is None and found.conforms and dialect.batch == "compact":
        return Judgement(found, {}, frozenset(i.name for i in spoken), frozenset())
    violations: dict[str, Violation] = {}
    blocked = set()
    for invariant in spoken:
        if invariant.at_end and not found.clean:
            blocked.add(invariant.name)
            continue
        violation = invariant.check(found)
        if violation is not None:
            violations[invariant.name] = violation
        elif not found.clean:
            blocked.add(invariant.name)
    judged = frozenset(i.name for i in spoken) - blocked
    return Judgement(found, violations, judged, frozenset(blocked))
