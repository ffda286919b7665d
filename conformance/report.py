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
        lines += _field("expected:", "the last run to be as it is alone, where it is right")
        lines += _field("observed:", f"after the runs before it, {broken}: {violation.observed}")
    else:
        lines += _field("expected:", violation.expected) + _field("observed:", violation.observed)
    lines += [_indent(lanes(found, violation.call), "slots")] if found.run.calls else []
    lines += _field("promise", invariant.sentence)
    lines += _field("see", f"{DOCS}#{invariant.anchor}")
    lines += _field("found by", _legs(finding))
    code = textwrap.indent(finding.session.code(), " " * 12)
    lines += [*_field("repro", f"slotspec repro {target} --workload FILE, or paste:"), code]
    return "\n".join(lines)


def place(finding: Finding) -> str:
    """Say where: the call counted from 1, or the end."""
    found, call = finding.judgement.attribution, finding.violation.call
    if finding.invariant == "scale/steady":
        return "at scale"
    if call >= len(found.run.calls):
        calls = len(found.run.calls)
        return f"at the end, after {calls} call{'' if calls == 1 else 's'}"
    return f"at call {call + 1}"


def lanes(found: Attribution, mark: int) -> str:
    """Draw the slots as lanes and the calls as columns: which request each slot holds, up to the marked call.

    A slot is a place that a request keeps from its admission to its finish; the lowest free one is taken.
    """
    table = _seats(found)
    first = max(0, min(len(found.run.calls), mark + 1) - MAX_CALLS)
    width = max((len(f"r{r}") for lane in table for r in lane if r is not None), default=1)
    idle, note = _idle_lane(found, table), _note(found)
    lines = []
    for number, lane in enumerate(table[:MAX_LANES]):
        cells = " ".join(("." if r is None else f"r{r}").ljust(width) for r in lane[first:])
        lines.append(f"{number} | {cells}{note if number == idle else ''}".rstrip())
    if len(table) > MAX_LANES:
        lines.append(f"  ... {len(table) - MAX_LANES} more slots")
    if idle is None and table:
        column = max(0, min(mark, len(found.run.calls) - 1)) - first
        lines.append(" " * (4 + (width + 1) * column) + "^" + note.removeprefix("  <-"))
    return "\n".join([*lines, *_legend(found)])


def _idle_lane(found: Attribution, table: list[list[int | None]]) -> int | None:
    """The lane that is idle in the diverging call beside a request that waits, where that is what is wrong."""
    split = found.divergence
    if split is None or split.strangers or not [r for r in split.entering if r not in split.seen]:
        return None
    return next((number for number, lane in enumerate(table[:MAX_LANES]) if lane and lane[-1] is None), None)


def _note(found: Attribution) -> str:
    split = found.divergence
    if split is None:
        return "  <- the last call"
    waiting = [r for r in split.entering if r not in split.seen]
    if split.strangers:
        return f"  <- here, the row {list(split.strangers[0].row)}"
    if waiting:
        return f"  <- idle while {found.names(waiting)} {'waits' if len(waiting) == 1 else 'wait'}"
    return "  <- here"


def _legend(found: Attribution) -> list[str]:
    """Say which request r0 is, where its id is another."""
    odd = [(f"r{i}", ask.request_id) for i, ask in enumerate(found.run.workload.asks) if ask.request_id != f"r{i}"]
    return [", ".join(f"{name} is {identity!r}" for name, identity in odd[:8])] if odd else []


def _seats(found: Attribution) -> list[list[int | None]]:
    """Give every request that has a row a slot, call by call; the diverging call is the last column."""
    columns = [{owner for owner in owners if owner is not None} for owners in found.owners]
    split = found.divergence
    if split is not None:
        columns.append(set(split.seen) | (split.claimed & set(split.running)))
    if not columns:
        return []
    slots = min(max(found.run.workload.num_slots, *map(len, columns)), 1_000)
    table: list[list[int | None]] = [[] for _ in range(slots)]
    seat: dict[int, int] = {}
    for column in columns:
        seat = {request: place for request, place in seat.items() if request in column}
        for request in sorted(column - seat.keys()):
            seat[request] = next(s for s in range(slots) if s not in seat.values())
        taken = {place: request for request, place in seat.items()}
        for number in range(slots):
            table[number].append(taken.get(number))
    return table


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
