"""Every flawed variant is caught, by the promises that it says it breaks."""

from __future__ import annotations

import pytest

from conformance.catalogue import CATALOGUE
from conformance.evidence import Evidence
from conformance.legs import search
from conformance.meta.mutation import modules
from conformance.report import block
from conformance.targets import load

FLAWED = list(modules("variants/flawed"))


@pytest.mark.parametrize("name", FLAWED, ids=lambda name: name.rpartition(".")[2])
def test_the_named_promises_are_seen_broken(name: str) -> None:
    implementation = load(name)
    evidence = Evidence(implementation, examples=60)
    if implementation.module.BREAKS == ("scale/steady",):
        search.scale(evidence.study)
    for broken in implementation.module.BREAKS:
        finding = evidence.about(broken)
        assert finding is not None, f"{name} is not seen to break {broken}, only {sorted(evidence.study.findings)}"
        report = block(finding, name)
        assert f"docs/invariants.md#{CATALOGUE[broken].anchor}" in report
        assert "Workload.of([" in report


def test_there_are_enough_of_them_and_all_promises_have_one() -> None:
    broken = {name for flawed in FLAWED for name in load(flawed).module.BREAKS}
    assert len(FLAWED) == 118
    assert broken <= set(CATALOGUE)
    assert set(CATALOGUE) - broken == {"pad/constant"}
