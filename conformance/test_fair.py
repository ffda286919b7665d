"""The promises of the fair profile, one test each: `pytest conformance/ --impl variants.x -k preempt/turn`.

It applies to a module whose `Engine` takes a `quantum`; the default run checks the reference's. The engine
profile's promises are held too, and have `fair:` before their names.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.fair.catalogue import FAIR
from conformance.fair.evidence import Evidence
from conformance.fair.report import block
from conformance.fair.targets import REFERENCE, offers, subject
from conformance.grading.remote import RemoteSubject, isolated
from conformance.targets import REFERENCE as CORE
from conformance.targets import parse_dialect


@pytest.fixture(scope="module")
def fair_evidence(target: str, pytestconfig: pytest.Config) -> Evidence:
    """The study of the module's `Engine`; skipped, with the reason, where it takes no quantum."""
    if (held := isolated(pytestconfig)) is not None:
        if "fair" not in held.abilities:
            pytest.skip(f"{target} offers no Engine that takes a quantum")
        return Evidence(RemoteSubject(held, held.dialect), pytestconfig.getoption("--examples"))
    found = subject(REFERENCE if target == CORE else target)
    if not offers(found.module):
        pytest.skip(f"{target} offers no Engine that takes a quantum")
    chosen = pytestconfig.getoption("--dialect")
    found = replace(found, dialect=parse_dialect(chosen, found.dialect)) if chosen else found
    return Evidence(found, pytestconfig.getoption("--examples"))


@pytest.mark.parametrize("name", FAIR)
def test_fair(name: str, fair_evidence: Evidence, request: pytest.FixtureRequest) -> None:
    """No leg of evidence finds a life of an engine that breaks this promise, and some life could have."""
    finding = fair_evidence.about(name)
    if finding is not None:
        study = fair_evidence.study
        report = block(study.smallest(finding), study.dialect)
        if FAIR[name].level == "SHOULD" and request.config.getoption("--should") == "report":
            pytest.xfail(f"SHOULD: {report}")
        pytest.fail(report, pytrace=False)
    if not fair_evidence.study.judged[name]:
        pytest.skip(f"not judged (blocked by {fair_evidence.blocked_by(name)})")
