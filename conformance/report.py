"""How a violation reads: the same block in the terminal and in every file."""

from __future__ import annotations

import textwrap

from conformance.attribution import Attribution
from conformance.catalogue import CATALOGUE
from conformance.study import Finding

DOCS = "docs/invariants.md"
WIDTH = 78
MAX_CALLS, MAX_LANES = 16, 12


def block(finding: Finding, target: str) -> str:
    """Write a finding as a block of lines that fit 80 columns, but for long data."""
    invariant, violation = CATALOGUE[finding.invariant], finding.violation
    found = finding.judgement.attribution
    lines = [f"{finding.invariant} violated {place(finding)}"]
    if finding.invariant == "run/independent":
        broken = ", ".join(sorted(finding.judgement.violations))
        lines += _field("expected", "the last run to be as it is alone, where it is right")
        lines += _field("observed", f"after the runs before it, {broken}: {violation.observed}")
    else:
        lines += _field("expected", violation.expected) + _field("observed", violation.observed)
    lines += [_indent(lanes(found, violation.call), "slots")] if found.run.calls else []
    lines += _field("promise", invariant.sentence)
    lines += _field("see", f"{DOCS}#{invariant.anchor}")
    lines += _field("found by", _legs(finding))
    code = textwrap.indent(finding.session.code(), " " * 12)
    lines += _field("repro", f"slotspec repro {target} --workload FILE, or paste:") + [code]
    return "\n".join(lines)


def place(finding: Finding) -> str:
    """Say where: the call counted from 1, or the end."""
    found, call = finding.judgement.attribution, finding.violation.call
    if finding.invariant == "scale/steady":
        return "at scale"
    if call >= len(found.run.calls):
        return f"at the end, after {len(found.run.calls)} calls"
    return f"at call {call + 1}"


def lanes(found: Attribution, mark: int) -> str:
    """Draw the calls as columns and the requests as lanes: the number of its tokens, and what is wrong in words.

    A slot is a place that a request keeps from its admission to its finish; the lowest free one is taken.
    """
    table, notes = _seats(found)
    first = max(0, min(len(found.run.calls), mark + 1) - MAX_CALLS)
    names = [f"r{r}" if len(found.run.workload.asks) > 1 else "r" for r in range(len(found.run.workload.asks))]
    width = max((len(name) for name in names), default=1)
    lines = []
    for number, lane in enumerate(table[:MAX_LANES]):
        cells = [(names[r] if r is not None else ".").ljust(width) for r in lane[first:]]
        lines.append(f"{number:>2} | {' '.join(cells)}")
    if len(table) > MAX_LANES:
        lines.append(f"   | ... {len(table) - MAX_LANES} more slots")
    offset = 5 + (width + 1) * (max(0, min(mark, len(found.run.calls) - 1)) - first)
    if table:
        lines.append(f"{' ' * offset}^ {notes}")
    legend = _legend(found)
    return "\n".join([*lines, *legend])


def _legend(found: Attribution) -> list[str]:
    """Say which request r0 is, where its id is another."""
    odd = [(f"r{i}", ask.request_id) for i, ask in enumerate(found.run.workload.asks) if ask.request_id != f"r{i}"]
    return [", ".join(f"{name} is {identity!r}" for name, identity in odd[:8])] if odd else []


def _seats(found: Attribution) -> tuple[list[list[int | None]], str]:
    """Give the owners of rows slots; the diverging call is the last column."""
    columns = [{owner for owner in owners if owner is not None} for owners in found.owners]
    split = found.divergence
    note = "here" if split or not found.run.calls else "the last call"
    if split is not None:
        columns.append(set(split.seen) | (split.claimed & set(split.running)))
        idle = found.run.workload.num_slots - len(columns[-1])
        waiting = [r for r in split.entering if r not in split.seen]
        if idle > 0 and waiting and not split.strangers:
            note = f"idle, while {found.names(waiting)} {'waits' if len(waiting) == 1 else 'wait'}"
        elif split.strangers:
            note = f"here, the row {list(split.strangers[0].row)}"
    slots = min(max(found.run.workload.num_slots, *map(len, columns), 1) if columns else 0, 1_000)
    table: list[list[int | None]] = [[] for _ in range(slots)]
    seat: dict[int, int] = {}
    for column in columns:
        for request in [r for r in seat if r not in column]:
            del seat[request]
        for request in sorted(column - seat.keys()):
            seat[request] = next(s for s in range(slots) if s not in seat.values())
        taken = {place: request for request, place in seat.items()}
        for number in range(slots):
            table[number].append(taken.get(number))
    return table, note


def _legs(finding: Finding) -> str:
    if not finding.before:
        return finding.leg
    return f"{finding.leg}; before it, no violation in: {', '.join(finding.before)}"


def _field(name: str, text: str) -> list[str]:
    wrapped = textwrap.wrap(text, WIDTH - 12, break_long_words=False, break_on_hyphens=False) or [""]
    return [f"  {name:<9} {wrapped[0]}", *(" " * 12 + line for line in wrapped[1:])]


def _indent(picture: str, name: str) -> str:
    first, *rest = picture.split("\n")
    return "\n".join([f"  {name:<9} {first}", *(" " * 12 + line for line in rest)])
