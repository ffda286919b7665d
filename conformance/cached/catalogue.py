"""The promises of the cached profile, before the core's, and the judgement of one cached run by all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from conformance.cached.history import CachedRun, left_over
from conformance.cached.reading import attribute
from conformance.catalogue import CATALOGUE, EVERY, Judgement
from conformance.invariant import Invariant, Violation
from reference.vocabulary import Dialect

CACHE = {name: invariant for name, invariant in EVERY.items() if invariant.profile == "cached"}
# A cache line is no row of a batch, so there is nothing to pad.
CORE = {f"cached:{name}": i for name, i in CATALOGUE.items() if not name.startswith("pad/")}
CACHED = CACHE | CORE
MUST = frozenset(name for name, invariant in CACHED.items() if invariant.level == "MUST")


def of_profile(dialect: Dialect) -> Dialect:
    """The dialect with what does not apply here at its default."""
    return replace(dialect, batch="compact")


def judge(run: CachedRun, dialect: Dialect, catalogue: Iterable[str] = CACHED) -> Judgement:
    """Judge one run by every promise that speaks of its situation, those of the cache first.

    A forward that did something to the cache makes wrong rows of it too; so where a MUST of the cache
    is broken, the core's promises are blocked.
    """
    found = attribute(run, dialect)
    situation = run.workload.situation
    spoken = {name: CACHED[name] for name in catalogue if situation in CACHED[name].situations}
    if situation == "plain" and found.conforms and not found.slips and not left_over(run):
        return Judgement(found, {}, frozenset(spoken), frozenset())
    violations: dict[str, Violation] = {}
    blocked = set()
    for name, invariant in spoken.items():
        consequence = name in CORE and any(n in CACHE and n in MUST for n in violations)
        if consequence or (invariant.at_end and not found.clean):
            blocked.add(name)
            continue
        violation = invariant.check(found)
        if violation is not None:
            violations[name] = violation
        elif not found.clean:
            blocked.add(name)
    return Judgement(found, violations, frozenset(spoken) - blocked, frozenset(blocked))


def label(invariant: Invariant) -> str:
    """The id of a promise in this profile."""
    return invariant.name if invariant.profile == "cached" else f"cached:{invariant.name}"
