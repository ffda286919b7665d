"""The promises, one test each: `pytest conformance/ --impl variants.x -k refill/immediate`."""

from __future__ import annotations

import pytest

from conformance.catalogue import CATALOGUE
from conformance.evidence import Evidence
from conformance.invariant import Invariant
from conformance.report import block
from reference.vocabulary import Dialect


@pytest.mark.parametrize("invariant", CATALOGUE.values(), ids=lambda invariant: invariant.name)
def test_invariant(
    invariant: Invariant, evidence: Evidence, target: str, dialect: Dialect, request: pytest.FixtureRequest
) -> None:
    """No leg of evidence finds a run that breaks this promise, and some run could have."""
    if invariant.name.startswith("pad/") and dialect.batch != "padded":
        pytest.skip("the implementation does not declare batch=padded")
    if not getattr(evidence.study.implementation, "has_generate", True):
        pytest.skip(f"{target} offers no `generate`")
    finding = evidence.about(invariant.name)
    if finding is not None:
        report = block(finding, target)
        if invariant.level == "SHOULD" and request.config.getoption("--should") == "report":
            pytest.xfail(f"SHOULD: {report}")
        pytest.fail(report, pytrace=False)
    if not evidence.judged(invariant.name):
        pytest.skip(f"not judged (blocked by {evidence.blocked_by(invariant.name)})")
