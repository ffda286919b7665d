"""How a violation of the cached profile reads."""

from __future__ import annotations

import textwrap

from conformance.cached.attribution import cached
from conformance.cached.catalogue import CACHED
from conformance.cached.study import INDEPENDENT, Finding
from conformance.cached.timeline import timeline

WIDTH = 78
DOCS = "docs/invariants.md"


def block(finding: Finding) -> str:
    """Write a finding as a block of lines: where, what, the lines up to there, and the workload as code."""
    invariant, violation = CACHED[finding.name], finding.violation
    found = cached(finding.judgement.attribution)
    calls = len(found.cached.forwards)
    at_end = violation.call >= calls
    place = (
        f"at the end, after {calls} forward{'' if calls == 1 else 's'}"
        if at_end
        else f"at forward {violation.call + 1}"
    )
    lines = [f"{finding.name} violated {place}"]
    if finding.name == INDEPENDENT:
        broken = ", ".join(sorted(finding.judgement.violations))
        lines += _field("expected", "the last run to be as it is alone, where it is right")
        lines += _field("observed", f"after the runs before it, {broken}: {violation.observed}")
    else:
        lines += _field("expected", violation.expected) + _field("observed", violation.observed)
    lines += ["  lines"] + [f"    {line}" for line in timeline(found, None if at_end else violation.call).split("\n")]
    lines += _field("promise", invariant.sentence)
    lines += _field("see", f"{DOCS}#{invariant.anchor}")
    lines += _field("found by", finding.leg)
    return "\n".join([*lines, "  repro     paste:", textwrap.indent(finding.session.code(), " " * 12)])


def _field(name: str, text: str) -> list[str]:
    wrapped = textwrap.wrap(text, WIDTH - 12, break_long_words=False, break_on_hyphens=False) or [""]
    return [f"  {name:<9} {wrapped[0]}", *(" " * 12 + line for line in wrapped[1:])]
