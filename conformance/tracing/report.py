"""A verdict as text, 80 columns wide, and as JSON."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from typing import Any

from conformance.catalogue import EVERY
from conformance.tracing.check import Fate, Verdict
from conformance.tracing.occurrences import Occurrence
from conformance.tracing.parts import failed_part

DOCS = "docs/invariants.md"
WIDTH = 78
MAX_LANES, LONG, MAX_TEXT = 12, 12, 400
TOKENS = re.compile(r"\[(-?\d+(?:, -?\d+)*)\]")
MADE_UP = -(2**58)  # tokens below this stand for what the trace does not tell


def text(verdict: Verdict) -> str:
    """Write a block for every violated promise, the earliest first, and the table."""
    first = {one.name for one in verdict.found.earliest}
    blocks = [block(one, verdict.found.count[one.name], one.name in first) for one in verdict.violated]
    return "\n\n".join([*blocks, "\n".join([*_table(verdict.fates), "", _summary(verdict)])])


def block(one: Occurrence, count: int, first: bool) -> str:
    """Write one violated promise, where it was first broken."""
    lines = [f"{one.name} violated {one.where} (line {one.line})"]
    lines += _field("expected:", short(one.expected)) + _field("observed:", short(one.observed))
    lines += _picture(one.lanes)
    part, sentence = failed_part(one), EVERY[one.name].sentence
    lines += _field("part" if part != sentence else "promise", part)
    lines += _field("see", f"{DOCS}#{EVERY[one.name].anchor}")
    lines += _field("count", f"{count} times in the trace") if count > 1 else []
    lines += [] if first else _field("note", "later than the first violation, and perhaps a consequence of it")
    return "\n".join(lines)


def short(said: str) -> str:
    """Leave the long lists of tokens out, and those that the trace itself does not tell."""
    said = TOKENS.sub(_list, said)
    return said if len(said) <= MAX_TEXT else f"{said[:MAX_TEXT]} ..."


def _list(match: re.Match[str]) -> str:
    tokens = [int(token) for token in match[1].split(", ")]
    if any(token < MADE_UP for token in tokens):
        return f"of {len(tokens)} tokens"
    if len(tokens) <= LONG:
        return match[0]
    return f"[{', '.join(map(str, tokens[:4]))}, ... {', '.join(map(str, tokens[-4:]))}] ({len(tokens)} tokens)"


def _field(name: str, said: str) -> list[str]:
    wrapped = textwrap.wrap(said, WIDTH - 12) or [""]
    return [f"  {name:<9} {wrapped[0]}", *(" " * 12 + line for line in wrapped[1:])]


def _picture(calls: tuple[tuple[str, ...], ...]) -> list[str]:
    """Draw who had a row in the last calls: a lane keeps its request as long as that has rows."""
    names = list(dict.fromkeys(name for call in calls for name in call))
    lanes: list[list[str]] = []
    for number, call in enumerate(calls):
        # A malformed or wrong call may have a request twice; it has one place here.
        left = Counter(dict.fromkeys(call, 1))
        for lane in lanes:
            lane.append(lane[-1] if left[lane[-1]] else ".")
            left[lane[-1]] = 0
        for name in (name for name in dict.fromkeys(call) if left[name]):
            free = next((lane for lane in lanes if lane[-1] == "."), None)
            if free is None:
                lanes.append(free := ["."] * (number + 1))
            free[-1] = name
    if not lanes:
        return []
    width = max(len(_tag(names, name)) for name in names)
    columns = max(1, (WIDTH - 18) // (width + 1))
    lines = []
    for number, lane in enumerate(lanes[:MAX_LANES]):
        cells = " ".join(_tag(names, name).ljust(width) for name in lane[-columns:])
        lines.append(f"  {'slots' if not number else '':<9} {number:<2}| {cells}".rstrip())
    lines += [f"{'':12}... {len(lanes) - MAX_LANES} more"] if len(lanes) > MAX_LANES else []
    return lines + _legend(names)


def _tag(names: list[str], name: str) -> str:
    return name if name == "." or (len(name) <= 6 and name.isalnum()) else f"r{names.index(name)}"


def _legend(names: list[str]) -> list[str]:
    odd = [f"{_tag(names, name)} is {name[:40]!r}" for name in names if _tag(names, name) != name]
    return _field("", ", ".join(odd[:6])) if odd else []


def _table(fates: list[Fate]) -> list[str]:
    lines = ["promise                      level   status"]
    for fate in fates:
        times = f" {fate.count} time{'' if fate.count == 1 else 's'}" if fate.status in ("violated", "waived") else ""
        why = f" ({fate.why})" if fate.why else ""
        said = textwrap.wrap(f"{fate.status}{times}{why}", WIDTH - 37)
        lines.append(f"{fate.name:<28} {EVERY[fate.name].level:<7} {said[0]}")
        lines += [" " * 37 + line for line in said[1:]]
    return lines


def _summary(verdict: Verdict) -> str:
    counts = Counter(fate.status for fate in verdict.fates)
    said = ", ".join(f"{counts[s]} {s}" for s in ("violated", "holds", "waived", "not judged") if counts[s])
    return f"{verdict.lines} lines, {verdict.calls} calls: {said}."


def data(verdict: Verdict) -> dict[str, Any]:
    """Everything that the text says, as data."""
    first = {one.name for one in verdict.found.earliest}
    return {
        "schema_version": 1,
        "profile": verdict.profile,
        "verdict": "violated" if verdict.violated else "no violation",
        "complete": verdict.complete,
        "lines": verdict.lines,
        "calls": verdict.calls,
        "steps": verdict.steps,
        "violations": [_violation(one, verdict.found.count[one.name], one.name in first) for one in verdict.violated],
        "invariants": [
            {"name": f.name, "level": EVERY[f.name].level, "status": f.status, "count": f.count, "why": f.why}
            for f in verdict.fates
        ],
    }


def _violation(one: Occurrence, count: int, first: bool) -> dict[str, Any]:
    return {
        "name": one.name,
        "line": one.line,
        "place": one.place,
        "where": one.where,
        "expected": short(one.expected),
        "observed": short(one.observed),
        "part": failed_part(one),
        "request_id": one.request_id,
        "count": count,
        "consequence": not first,
    }
