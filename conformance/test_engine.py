"""The promises of the engine profile, one test each: `pytest conformance/ --impl variants.x -k abort/silent`.

It applies to a module that offers `Engine`; the default run checks the reference's.
"""

from __future__ import annotations

import pytest

from conformance.engine.catalogue import ENGINE
from conformance.engine.evidence import Evidence
from conformance.engine.report import block
from conformance.engine.targets import REFERENCE, lacks, subject
from conformance.engines.adapters import described
from conformance.engines.study import Campaign, EngineStudy
from conformance.grading.profiles import offered
from conformance.grading.remote import RemoteSubject, isolated
from conformance.invariant import Invariant
from conformance.targets import REFERENCE as CORE
from conformance.targets import load, parse_dialect


@pytest.fixture(scope="module")
def engine_evidence(target: str, pytestconfig: pytest.Config) -> Evidence | Campaign:
    """The study of the module's `Engine`; skipped, with the reason, where it has none."""
    if (held := isolated(pytestconfig)) is not None:
        if "engine" not in held.abilities:
            pytest.skip(
                f"the engine profile does not apply to {target}: {offered(held.abilities).get('engine', 'none')}"
            )
        return Evidence(RemoteSubject(held, held.dialect), pytestconfig.getoption("--examples"))
    place = REFERENCE if target == CORE else target
    implementation = load(place)
    if reason := lacks(implementation.module):
        pytest.skip(f"the engine profile does not apply to {target}: {reason}")
    if hasattr(implementation.module, "ENGINE"):
        return Campaign(EngineStudy(described(target, implementation.module)), pytestconfig.getoption("--examples"))
    chosen = pytestconfig.getoption("--dialect")
    dialect = parse_dialect(chosen, implementation.dialect) if chosen else None
    return Evidence(subject(place, dialect), pytestconfig.getoption("--examples"))


@pytest.mark.parametrize("invariant", ENGINE.values(), ids=lambda invariant: invariant.name)
def test_engine(invariant: Invariant, engine_evidence: Evidence | Campaign, request: pytest.FixtureRequest) -> None:
    """No leg of evidence finds an engine's life that breaks this promise, and some life could have."""
    finding = engine_evidence.about(invariant.name)
    if finding is not None:
        study = engine_evidence.study
        drawn = study.reader(finding.history) if isinstance(study, EngineStudy) else None
        report = block(finding, study.dialect, drawn)
        if invariant.level == "SHOULD" and request.config.getoption("--should") == "report":
            pytest.xfail(f"SHOULD: {report}")
        pytest.fail(report, pytrace=False)
    if not engine_evidence.study.judged[invariant.name]:
        pytest.skip(f"not judged (blocked by {engine_evidence.blocked_by(invariant.name)})")


def test_declared_deviations_occur(engine_evidence: Evidence | Campaign) -> None:
    """What an adapter declares in `POLICY` was seen to happen, so that the table stays true."""
    if not isinstance(engine_evidence, Campaign):
        pytest.skip("it declares no POLICY, as it is no adapter of a real engine")
    idle = [f"{one.invariant}: {one.words}" for one in engine_evidence.idle()]
    assert idle == []
