"""The cached profile under test: its scope, its variants honest and flawed, its mutants and witnesses."""

from __future__ import annotations

import re
import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from conformance.cached import search
from conformance.cached.attribution import cached
from conformance.cached.catalogue import CACHE, CACHED, CORE, MUST, judge
from conformance.cached.driving import CachedSession, drive, drive_session
from conformance.cached.evidence import Evidence
from conformance.cached.legs import LEGS, WIDE
from conformance.cached.mutation import mutated
from conformance.cached.report import block
from conformance.cached.study import Study, studied
from conformance.cached.targets import REFERENCE, load_cached, of_module
from conformance.invariant import Mutant
from conformance.legs import scope
from conformance.targets import TargetError, load, parse_dialect
from conformance.workloads import Workload
from reference.cached import generate_cached
from reference.vocabulary import Dialect

ROOT = Path(__file__).resolve().parents[2]
HONEST = sorted(path.stem for path in (ROOT / "variants").glob("cached_*.py"))
FLAWED = sorted(path.stem for path in (ROOT / "variants" / "flawed").glob("cached_*.py"))
THREE = next(leg for leg in LEGS if leg.name == "small scope, 3 requests")
THINNED = replace(THREE, sessions=lambda dialect: islice(THREE.sessions(dialect), 0, None, 3))
SHORT = tuple(leg for leg in LEGS if leg is not THREE)
MUTANTS = [(name, number, mutant) for name, i in CACHE.items() for number, mutant in enumerate(i.mutants)]
PINNED = {
    "small scope, 2 requests": 963,
    "failures": 88,
    "one model for several runs": 17,
    "scenarios": 74,
    "small scope, 3 requests": 4_000,
    "corners": 23,
    "small scope, empty prompts": 1_290,
    "small scope, shared prefixes": 1_608,
    "small scope, 4 requests": 14_742,
}


def test_the_scope_has_the_size_that_is_claimed() -> None:
    counts = {leg.name: sum(1 for _ in leg.sessions(Dialect())) for leg in (*LEGS, WIDE)}
    assert counts == PINNED


def test_every_witness_occurs_in_the_reference() -> None:
    """No promise holds because its situation never came up; and the reference writes every token just once."""
    seen: Counter[str] = Counter()
    forwards = resets = written = 0
    for leg in LEGS:
        for session in leg.sessions(Dialect()):
            for run in drive_session(generate_cached, session):
                judgement = judge(run, Dialect())
                assert not judgement.violations, judgement
                found = cached(judgement.attribution)
                seen.update(name for name in judgement.judged if CACHED[name].witness(found))
                if leg.name == "small scope, 3 requests":
                    forwards += len(run.forwards)
                    resets += len(run.ops) - len(run.forwards)
                    written += sum(len(new) for forward in run.forwards for _, new in forward.rows)
    assert set(CACHED) - set(seen) == set()
    assert (forwards, resets, written) == (12_456, 10_800, 26_400)


@pytest.mark.parametrize("stem", HONEST)
def test_an_honest_implementation_breaks_no_must(stem: str) -> None:
    evidence = Evidence(load_cached(f"variants.{stem}"), examples=30, legs=(*SHORT, THINNED))
    while evidence.run_next():
        pass
    assert set(evidence.study.findings) == ({"cache/released"} if stem == "cached_lazy_reset" else set())
    assert evidence.study.through[-1] == "scale"
    assert evidence.study.runs > 5_000


@pytest.mark.parametrize("text", ["stop_token=excluded", "max_tokens=total", "stop_token=excluded,max_tokens=total"])
def test_the_reference_holds_in_every_dialect(text: str) -> None:
    study = studied(load_cached(REFERENCE, parse_dialect(text)), SHORT)
    assert study.findings == {}
    assert study.runs > 4_000


def test_there_are_honest_variants_in_different_styles() -> None:
    assert len(HONEST) == 4
    sources = [(ROOT / "variants" / f"{stem}.py").read_text() for stem in HONEST]
    assert len({source.split("\n", 1)[0] for source in sources}) == len(HONEST)


@pytest.mark.parametrize("stem", FLAWED)
def test_a_flawed_variant_is_killed_by_the_promises_that_it_names(stem: str) -> None:
    implementation = load_cached(f"variants.flawed.{stem}")
    evidence = Evidence(implementation, examples=30, legs=LEGS)
    for name in implementation.module.BREAKS:
        finding = evidence.about(name)
        assert finding is not None, f"{stem} is not seen to break {name}, only {sorted(evidence.study.findings)}"
        report = block(finding)
        assert f"{name} violated" in report
        assert "Workload.of([" in report
    first = next(name for name in evidence.study.findings if name in MUST)
    assert first in implementation.module.BREAKS, f"what is found first is {first}"


@pytest.mark.parametrize("stem", ["stop_keeps_line", "piece_reply_stops", "prefix_rewritten", "prefill_alone"])
@pytest.mark.parametrize("look", [search.random_workloads, search.state_machine])
def test_each_search_finds_faults_by_itself(stem: str, look: Callable[[Study, int], None]) -> None:
    study = Study(load_cached(f"variants.flawed.cached_{stem}"))
    look(study, 60)
    assert study.broken


def test_a_first_violation_takes_no_time() -> None:
    seconds = []
    for stem in FLAWED[::3]:
        began = time.process_time()
        assert studied(load_cached(f"variants.flawed.{stem}"), first=True).findings
        seconds.append(time.process_time() - began)
    assert statistics.median(seconds) < 1


def test_there_are_flawed_variants_for_every_must() -> None:
    broken = {name for stem in FLAWED for name in load_cached(f"variants.flawed.{stem}").module.BREAKS}
    assert len(FLAWED) == 35
    assert broken <= set(CACHED)
    assert set(CACHE) <= broken


@pytest.mark.parametrize(("name", "number", "mutant"), MUTANTS, ids=lambda value: str(value)[:40])
def test_the_promise_kills_its_mutant(name: str, number: int, mutant: Mutant) -> None:
    assert Evidence(mutated(name, mutant), examples=30, legs=LEGS).about(name) is not None, mutant.replace


def test_every_promise_of_the_cache_has_mutants() -> None:
    assert len(CACHE) == 7
    assert len(MUTANTS) == 19
    assert all(invariant.mutants for invariant in CACHE.values())
    with pytest.raises(ValueError, match="matches 0 times"):
        mutated("x", Mutant("no such text", ""))


def test_the_cache_comes_before_the_core() -> None:
    names = list(CACHED)
    assert names[: len(CACHE)] == list(CACHE)
    assert all(name.startswith("cached:") for name in CORE)
    assert not any(name.startswith("cached:pad/") for name in CORE)


def test_a_dirty_line_is_charged_to_the_cache_and_blocks_the_core() -> None:
    """The prefix is wrong too, but that is the consequence."""
    study = studied(load_cached("variants.flawed.cached_no_reset"), LEGS[:1])
    finding = study.findings["cache/fresh"]
    assert "cached:row/prefix" in finding.judgement.blocked
    assert not any(name in CORE for name in study.findings)


def test_lines_that_an_earlier_run_left_are_seen() -> None:
    """A run that fails and leaves its lines harms the next one with the same model, and only with the same model."""
    leaky = load_cached("variants.flawed.cached_kept_at_failure").generate
    workload = scope.built([(3, None), (2, None)], 1, scope.PLAIN, 0, Dialect())
    broken = workload.with_fault("raises", 1)
    shared = drive_session(leaky, CachedSession((broken, workload), same_model=True))
    apart = drive_session(leaky, CachedSession((broken, workload)))
    assert shared[1].before == ((0, (1010,)),)
    assert apart[1].before == ()
    evidence = Evidence(load_cached("variants.flawed.cached_kept_at_failure"))
    finding = evidence.about("cache/fresh")
    assert finding is not None
    assert finding.session.same_model
    assert "one model object serves all the runs" in block(finding)


def test_a_violation_reads_like_this() -> None:
    finding = Evidence(load_cached("variants.flawed.cached_stop_keeps_line")).about("cache/fresh")
    assert finding is not None
    report = block(finding)
    assert re.search(r"cache/fresh violated at forward \d", report)
    assert "the line of slot 0 to be empty when 'r1' enters" in report
    assert "docs/invariants.md#cache-fresh" in report
    assert all(len(line) < 100 for line in report.splitlines())


def test_a_module_without_generate_loads_if_it_offers_a_profile(tmp_path: Path) -> None:
    plain = load("variants.cached_chunked")
    assert plain.offers("generate_cached")
    assert not plain.offers("generate")
    with pytest.raises(TargetError, match="offers no `generate`"):
        plain.generate(None, [], 1, 0)
    neither = tmp_path / "neither.py"
    neither.write_text("x = 1\n")
    with pytest.raises(TargetError, match="no callable 'generate'"):
        load(str(neither))
    with pytest.raises(TargetError, match="no callable 'generate_cached'"):
        load_cached("variants.columns")


def test_a_module_may_offer_both(tmp_path: Path) -> None:
    both = tmp_path / "both.py"
    sources = [(ROOT / "reference" / f"{name}.py").read_text() for name in ("generate", "cached")]
    both.write_text(sources[0] + sources[1].replace("from __future__ import annotations", ""))
    implementation = of_module("both", load(str(both)).module)
    assert studied(implementation, LEGS[:1]).findings == {}


def test_a_run_that_never_ends_is_stopped() -> None:
    """Lines that only grow, and a loop that only resets or calls, end within the run's own allowance."""

    def forever(model: object, requests: list[object], num_slots: int, stop_token: int) -> dict[str, list[int]]:
        while True:
            model.forward([(0, [1])])  # type: ignore[attr-defined]

    run = drive(forever, Workload.of([("r0", [1], 2, [3, 4])], 1, 0))
    assert "calls, more than any right run makes" in getattr(run.outcome, "why", "")
