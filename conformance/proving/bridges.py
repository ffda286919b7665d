"""What ties the formal systems to the code, as theorems of `slotspec prove`: comparisons and replays."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from conformance.cached.targets import REFERENCE as CACHED
from conformance.cached.targets import load_cached
from conformance.contracts import HOUSE
from conformance.fair.targets import REFERENCE as FAIR
from conformance.fair.targets import subject
from conformance.proving import agreement, fair_policy, recursion, replaying, replaying_profiles
from conformance.proving.agreement import Compared
from conformance.proving.replaying import Replayed
from conformance.proving.theorem import Outcome, Theorem
from conformance.targets import REFERENCE, load
from reference.formal.costs import to_fullest

Comparison = Callable[[], Compared]
ENGINE = "reference.engine"
PREFIX = {"replay": "", "lines": "cached_", "lives": "engine_", "turns": "fair_"}
WHAT = {
    "replay": "Each run",
    "lines": "Each run, with what the cache lines hold,",
    "lives": "Each life, with arrivals, aborts and failures,",
    "turns": "Each life, with a quantum,",
}
CORE_SCOPE = "up to 4 requests of up to 3 tokens in up to 4 slots{}; and {} random workloads, some of 80 requests"


def bridge_theorems() -> Iterator[Theorem]:
    yield from comparisons()
    yield from replays()


# -- Comparisons -------------------------------------------------------------------------------------


def compared(
    name: str, statement: str, scope: str, comparison: Comparison, controls: Mapping[str, Comparison]
) -> Theorem:
    check = partial(check_comparison, comparison, controls)
    return Theorem(name, statement, "bridge", scope, "small scope", "exhaustive, comparison", tuple(controls), check)


def check_comparison(comparison: Comparison, controls: Mapping[str, Comparison]) -> Outcome:
    found = comparison()
    refuted = tuple(name for name, broken in controls.items() if broken().differ)
    if found.differ or not found.total:
        return Outcome("broken", refuted, (f"{found.differ} of {found.total} comparisons differ: {found.first[:200]}",))
    return Outcome("holds", refuted)


def comparisons() -> Iterator[Theorem]:
    yield compared(
        "bridge/actions",
        "Each action as z3 has it does to a state what `reference.transitions` does.",
        "every state of up to 2 requests of 2 tokens in 2 slots, and of 3 of 1 token in 3; 1,247 steps",
        agreement.compare_actions,
        {"a stopped request keeps its slot": lambda: agreement.compare_actions({"advance": (agreement.forgetful,)})},
    )
    yield compared(
        "bridge/invariants",
        "Each invariant as z3 has it is true of the states of which `reference.transitions` says so.",
        "good and bad states of 2 requests in 2 slots; 9,180 comparisons",
        agreement.compare_invariants,
        {"every invariant is true": lambda: agreement.compare_invariants(agreement.always_true)},
    )
    yield compared(
        "bridge/calls-of-generate",
        "The recursion of the theorems on costs foretells the calls of `generate`.",
        "up to 4 requests of up to 3 tokens in up to 4 slots; 1,364 cases",
        recursion.compare_with_generate,
        {"there is one slot more": lambda: recursion.compare_with_generate(recursion.one_slot_more)},
    )
    yield compared(
        "bridge/steps-of-system",
        "With arrivals, the recursion foretells who runs in which step of `reference.transitions`.",
        "up to 3 requests of up to 3 tokens in up to 3 slots, arrivals in 4 steps; 1,926 cases",
        recursion.compare_with_transitions,
        {"there is one slot more": lambda: recursion.compare_with_transitions(recursion.one_slot_more)},
    )
    yield compared(
        "bridge/recursion",
        "The run that z3 reasons about is the recursion.",
        "up to 3 requests of up to 2 tokens in up to 3 slots, arrivals in 3 steps; 330 cases",
        recursion.compare_encoding,
        {"a request waits for the slot that is free last": lambda: recursion.compare_encoding(to_fullest)},
    )
    yield from fair_comparisons()


def fair_comparisons() -> Iterator[Theorem]:
    yield compared(
        "bridge/fair-policy",
        "The policy of the quantum as z3 has it admits, yields and advances as a plain program of it does.",
        "3 and 4 requests of up to 3 tokens in up to 3 slots, with and without arrivals, quantum 1 and 2; 366 steps",
        fair_policy.compare_policy,
        {"who entered last yields first": fair_policy.compare_newest_first},
    )
    yield compared(
        "bridge/fair-engine",
        "The engine of `reference.fair` has in each call whom that program has.",
        "3 and 4 requests of up to 3 tokens in up to 3 slots, arrivals in 3 steps, quantum up to 3; 4,590 cases",
        fair_policy.compare_engine,
        {"the quantum is one more": lambda: fair_policy.compare_engine(more=1)},
    )
    yield compared(
        "bridge/fair-bound",
        "In that program no request waits longer than `fairness/bounded-wait` says, and some wait as long.",
        "4 requests of up to 3 tokens, arrivals in 3 steps, slots and quantum up to 3; 43,740 waits",
        fair_policy.compare_bound,
        {"nobody yields": lambda: fair_policy.compare_bound(yielding=False)} | attained(),
    )


def attained() -> dict[str, Comparison]:
    """Claim, for each number of slots and each quantum, that a request never waits quite as long."""
    return {
        f"a call less is enough, with {slots} slots and quantum {quantum}": partial(
            fair_policy.compare_bound, less=1, scope=[(slots, quantum)]
        )
        for slots, quantum in fair_policy.SCOPE
    }


# -- Replays -----------------------------------------------------------------------------------------


def replays() -> Iterator[Theorem]:
    for target in (REFERENCE, *replaying.core_variants()):
        yield core_replay(target)
    for target in (CACHED, *profile_variants("cached", "generate_cached")):
        yield cached_replay(target)
    for target in (ENGINE, *profile_variants("engine", "Engine")):
        yield engine_replay(target)
    for target in (FAIR, *profile_variants("fair", "Engine")):
        yield fair_replay(target)


def profile_variants(profile: str, offered: str) -> list[str]:
    """The honest variants of a profile, by module name, that have what it is about."""
    names = [f"variants.{path.stem}" for path in sorted(Path(HOUSE, "variants").glob(f"{profile}_*.py"))]
    return [name for name in names if hasattr(importlib.import_module(name), offered)]


def replay(target: str, kind: str, scope: str, controls: Mapping[str, object], check: Callable[[], Outcome]) -> Theorem:
    reference, module = target.startswith("reference."), target.rpartition(".")[2]
    name = f"{kind}/{'reference' if reference else module.removeprefix(PREFIX[kind])}"
    statement = f"{WHAT[kind]} of `{target}` is a run of the transition system."
    short = "small + random" if kind in ("replay", "lines") else "small scope"
    return Theorem(name, statement, "bridge", scope, short, "replay, in order", tuple(controls), check)


def part(every: int) -> str:
    return f", each {every}th case" if every > 1 else ""


def judged(found: Replayed, refused: list[str]) -> Outcome:
    if found.refused is not None or not found.runs:
        return Outcome("broken", tuple(refused), (f"run {found.runs} is not accepted: {str(found.refused)[:200]}",))
    return Outcome("holds", tuple(refused))


def core_replay(target: str) -> Theorem:
    every = 1 if target == REFERENCE else 8

    def check() -> Outcome:
        implementation = load(target)
        return judged(replaying.replayed(implementation, every=every), replaying.refused(implementation))

    scope = CORE_SCOPE.format(part(every), replaying.RANDOM + replaying.LARGE)
    return replay(target, "replay", scope, replaying.CHANGES, check)


def cached_replay(target: str) -> Theorem:
    every = 2 if target == CACHED else 8

    def check() -> Outcome:
        implementation = load_cached(target)
        found = replaying_profiles.replayed_cached(implementation, every=every)
        return judged(found, replaying_profiles.refused_cached(implementation))

    scope = CORE_SCOPE.format(part(every), replaying.LARGE)
    return replay(target, "lines", scope, replaying_profiles.CACHED_CHANGES, check)


def engine_replay(target: str) -> Theorem:
    def check() -> Outcome:
        module = importlib.import_module(target)
        found = replaying_profiles.replayed_engine(module, every=8)
        return judged(found, replaying_profiles.refused_engine(module))

    scope = f"up to 3 requests of up to 2 tokens, with arrivals, aborts and failures{part(8)}"
    return replay(target, "lives", scope, replaying_profiles.ENGINE_CHANGES, check)


def fair_replay(target: str) -> Theorem:
    def check() -> Outcome:
        found = replaying_profiles.replayed_fair(subject(target), every=8)
        return judged(found, replaying_profiles.refused_fair(subject(target)))

    scope = f"up to 4 requests with arrivals, aborts and failures, and crowds{part(8)}"
    return replay(target, "turns", scope, dict.fromkeys(replaying_profiles.FAIR_CHANGES), check)
