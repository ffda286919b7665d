"""The promises of the cached profile, one test each: `pytest conformance/ --impl variants.x -k cache/fresh`.

It applies to a module that offers `generate_cached`; the default run checks the reference's. The core's
promises are applied to the rows that the model saw, and have `cached:` before their names.
"""

from __future__ import annotations

import pytest

from conformance.cached.catalogue import CACHED
from conformance.cached.evidence import Evidence
from conformance.cached.report import block
from conformance.cached.targets import OFFERED, REFERENCE, of_module
from conformance.grading.remote import RemoteImplementation, isolated
from conformance.targets import REFERENCE as CORE
from conformance.targets import load, parse_dialect


@pytest.fixture(scope="module")
def cached_evidence(target: str, pytestconfig: pytest.Config) -> Evidence:
    """The study of the module's `generate_cached`; skipped, with the reason, where it has none."""
    if (held := isolated(pytestconfig)) is not None:
        if "cached" not in held.abilities:
            pytest.skip(f"{target} offers no {OFFERED}")
        return Evidence(RemoteImplementation(held, held.dialect), pytestconfig.getoption("--examples"))
    place = REFERENCE if target == CORE else target
    implementation = load(place)
    if not implementation.offers(OFFERED):
        pytest.skip(f"{target} offers no {OFFERED}")
    chosen = pytestconfig.getoption("--dialect")
    dialect = parse_dialect(chosen, implementation.dialect) if chosen else None
    return Evidence(of_module(place, implementation.module, dialect), pytestconfig.getoption("--examples"))


@pytest.mark.parametrize("name", CACHED)
def test_cached(name: str, cached_evidence: Evidence, request: pytest.FixtureRequest) -> None:
    """No leg of evidence finds a cached run that breaks this promise, and some run could have."""
    invariant, finding = CACHED[name], cached_evidence.about(name)
    if finding is not None:
        report = block(finding)
        if invariant.level == "SHOULD" and request.config.getoption("--should") == "report":
            pytest.xfail(f"SHOULD: {report}")
        pytest.fail(report, pytrace=False)
    judged = cached_evidence.study.judged[name]
    if not judged:
        pytest.skip(f"not judged (blocked by {cached_evidence.blocked_by(name)})")
