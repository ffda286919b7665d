"""docs/cached.md says what the code does."""

from __future__ import annotations

from conformance.cached.attribution import cached
from conformance.cached.catalogue import judge
from conformance.cached.driving import drive
from conformance.cached.page import PAGE, SPLICE, blocks, spliced
from conformance.cached.targets import load_cached
from conformance.cached.timeline import timeline
from conformance.workloads import Workload
from reference.vocabulary import Dialect


def test_the_timelines_are_fresh() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == spliced(text), "run: python -m conformance.cached.page"


def test_every_timeline_is_on_the_page() -> None:
    assert [match[2] for match in SPLICE.finditer(PAGE.read_text(encoding="utf-8"))] == list(blocks())


def test_a_long_run_is_cut_and_a_failure_is_shown() -> None:
    workload = Workload.of([("r0", [1], 40, range(2, 42))], 1, 0).with_fault("raises", 30)
    found = judge(drive(load_cached("reference.cached").generate, workload), Dialect()).attribution
    text = timeline(cached(found))
    assert text.startswith("...\n")
    assert "-> raised" in text
    assert text.endswith("raises ModelFailure\n  lines: all empty")
