"""The cached catalogue is complete, and no promise in it is idle.

A history of forwards, resets and a result is accepted by the transition system with lines if and only
if no MUST is violated, on the histories of honest implementations and every single edit of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import pytest

from conformance.cached.catalogue import CACHE, CACHED, MUST, judge
from conformance.cached.driving import drive
from conformance.cached.edits import edits
from conformance.cached.history import CachedRun, recovered
from conformance.cached.system import accepted, explore
from conformance.cached.targets import load_cached
from conformance.catalogue import judge as judge_core
from conformance.legs import scope
from conformance.workloads import Workload
from reference.cached import generate_cached
from reference.transitions import Problem
from reference.vocabulary import Dialect

KINDS = (scope.KINDS[0], *scope.SHORT)
PATTERNS = (scope.LONGER, scope.STOPPED, scope.PLAIN, scope.EMPTY)
PINNED = {  # edits, and how many of them are right all the same
    "reference.cached": (5_020, 868),
    "variants.cached_lazy_reset": (5_020, 943),
    "variants.cached_chunked": (5_356, 886),
    "variants.cached_token_budget": (5_075, 953),
}


def workloads(dialect: Dialect, every: int) -> Iterator[Workload]:
    """Up to three requests, limits up to 2, 1 to 3 slots; one in `every`."""
    cases = [(kinds, slots) for count in range(4) for kinds in product(KINDS, repeat=count) for slots in (1, 2, 3)]
    for number, (kinds, slots) in enumerate(cases):
        if number % every == 0:
            yield scope.built(kinds, slots, PATTERNS[number // every % len(PATTERNS)], number, dialect)


def edited(target: str, every: int) -> Iterator[tuple[CachedRun, Dialect]]:
    implementation = load_cached(target)
    for workload in workloads(implementation.dialect, every):
        for run in edits(drive(implementation.generate, workload)):
            yield run, implementation.dialect


@pytest.mark.parametrize("target", PINNED)
def test_accepted_if_and_only_if_no_must_is_violated(target: str) -> None:
    disagreements, count, right = [], 0, 0
    for run, dialect in edited(target, 23):
        violations = set(judge(run, dialect).violations) & MUST
        is_right = accepted(run, dialect)
        count, right = count + 1, right + is_right
        if is_right == bool(violations):
            disagreements.append(f"{sorted(violations)} but accepted={is_right}: {run}")
    assert not disagreements, f"{len(disagreements)} of {count}, the first: {disagreements[0]}"
    assert (count, right) == PINNED[target]


def test_without_one_promise_an_edit_passes_or_another_is_broken_that_it_is_implied_by() -> None:
    escaped: Counter[str] = Counter()
    unexplained = []
    for run, dialect in edited("variants.cached_chunked", 61):
        for name in set(judge(run, dialect).violations) & MUST & set(CACHE):
            rest = set(judge(run, dialect, [n for n in CACHED if n != name]).violations) & MUST
            implied = {f"cached:{n}" if n not in CACHE else n for n in CACHE[name].implied_by}
            escaped[name] += not rest
            if implied and not rest & implied:
                unexplained.append((name, sorted(rest)))
    assert not unexplained, Counter(map(str, unexplained)).most_common(5)
    idle = {name for name in CACHE if name in MUST and not escaped[name] and not CACHE[name].implied_by}
    assert idle == {"cache/in-step"}, "one edit does not show it; the next test does"


def test_the_core_alone_does_not_see_a_prefix_that_is_written_again() -> None:
    """Each line emptied and written anew in every call: every row that the model sees is right."""
    rewriting = load_cached("variants.flawed.cached_prefix_rewritten").generate
    seen = 0
    for workload in workloads(Dialect(), 7):
        run = drive(rewriting, workload)
        assert not judge_core(recovered(run), Dialect()).violations
        seen += "cache/in-step" in judge(run, Dialect()).violations
    assert seen > 50


def test_whole_prompts_need_no_reading_of_pieces() -> None:
    """Where prompts are written whole, the recovered rows are a core history that the core itself accepts."""
    for workload in scope.up_to(2, Dialect()):
        run = drive(generate_cached, workload)
        assert judge_core(recovered(run), Dialect()).attribution.conforms


@pytest.mark.parametrize(
    ("prompts", "limits", "slots", "states"),
    [
        (((1, 2), (3,)), (2, 2), 1, 30),
        (((), (3,)), (2, 2), 2, 60),
        (((1, 2), (3, 4), (5,)), (1, 2, 1), 2, 215),
        (((1, 2), (3, 4), (5,)), (2, 2, 1), 2, 318),
    ],
)
def test_every_reachable_state_is_in_step(
    prompts: tuple[tuple[int, ...], ...], limits: tuple[int, ...], slots: int, states: int
) -> None:
    """However prompts are cut, whenever lines are emptied, whatever is replied: no line mixes two requests."""
    assert len(explore(Problem(prompts, limits, slots, 0), (0, 9))) == states
