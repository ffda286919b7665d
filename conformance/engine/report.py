"""How a violation of an engine reads: the same block as in the core, with the life of the engine as a table."""

from __future__ import annotations

import textwrap

from conformance.engine.catalogue import ENGINE
from conformance.engine.reading import Reading
from conformance.engine.study import Finding
from conformance.engine.timeline import table
from reference.vocabulary import Dialect

WIDTH = 78


def block(finding: Finding, dialect: Dialect, reading: Reading | None = None) -> str:
    """Write a finding as lines that fit 80 columns, but for long data; `reading` is a fresh one to draw it with."""
    invariant, violation = ENGINE[finding.invariant], finding.violation
    lines = [f"{finding.invariant} violated in step {max(1, violation.call)}"]
    lines += _field("expected", violation.expected) + _field("observed", violation.observed)
    lines += _field("promise", invariant.sentence)
    lines += _field("see", f"docs/invariants.md#{invariant.anchor}")
    before = f"; before it, no violation in: {', '.join(finding.before)}" if finding.before else ""
    lines += _field("found by", finding.leg + before)
    lines += ["  life", textwrap.indent(table(finding.history, dialect, reading), " " * 4)]
    lines += ["  repro, paste:", textwrap.indent(finding.script.code(), " " * 4)]
    if finding.beside is not None:
        how = "inside its calls" if finding.nested else "in turn with it"
        lines += [f"  and beside it, {how}:", textwrap.indent(finding.beside.code(), " " * 4)]
    return "\n".join(lines)


def _field(name: str, text: str) -> list[str]:
    wrapped = textwrap.wrap(text, WIDTH - 12, break_long_words=False, break_on_hyphens=False) or [""]
    return [f"  {name:<9} {wrapped[0]}", *(" " * 12 + line for line in wrapped[1:])]
