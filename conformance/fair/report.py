"""How a violation reads: the block of the engine profile, with the quantum."""

from __future__ import annotations

import textwrap

from conformance.engine.timeline import table
from conformance.fair.catalogue import FAIR
from conformance.fair.study import Finding
from reference.vocabulary import Dialect

WIDTH = 78


def block(finding: Finding, dialect: Dialect) -> str:
    """Write a finding as lines that fit 80 columns, but for long data."""
    invariant, violation, script = FAIR[finding.invariant], finding.violation, finding.script
    lines = [f"{finding.invariant} violated in step {max(1, violation.call)}"]
    lines += _field("expected", violation.expected) + _field("observed", violation.observed)
    lines += _field("promise", invariant.sentence)
    lines += _field("see", f"docs/invariants.md#{invariant.anchor}")
    before = f"; before it, no violation in: {', '.join(finding.before)}" if finding.before else ""
    lines += _field("found by", finding.leg + before)
    lines += [f"  life, {script.num_slots} slots, a quantum of {script.quantum}"]
    lines += [textwrap.indent(table(finding.history, dialect), " " * 4)]
    lines += ["  repro, paste:", textwrap.indent(script.code(), " " * 4)] if script.asks else []
    return "\n".join(lines)


def _field(name: str, text: str) -> list[str]:
    wrapped = textwrap.wrap(text, WIDTH - 12, break_long_words=False, break_on_hyphens=False) or [""]
    return [f"  {name:<9} {wrapped[0]}", *(" " * 12 + line for line in wrapped[1:])]
