"""Judge one trace: read it, follow it, and say how every promise fared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from conformance.catalogue import EVERY
from conformance.tracing import facts
from conformance.tracing.engine_judge import EngineJudge
from conformance.tracing.generate_judge import GenerateJudge
from conformance.tracing.occurrences import Occurrence, Occurrences
from conformance.tracing.reading import Trace, TraceError

Status = Literal["holds", "violated", "waived", "not judged"]
Judge = GenerateJudge | EngineJudge


@dataclass(frozen=True)
class Fate:
    """How one promise fared: `count` violations of it; `why` it was not judged, or what else is to be said."""

    name: str
    status: Status
    count: int
    why: str = ""


@dataclass(frozen=True)
class Verdict:
    """A trace, judged."""

    profile: str
    lines: int
    calls: int
    steps: int
    complete: bool
    found: Occurrences
    fates: list[Fate]

    @property
    def violated(self) -> list[Occurrence]:
        return self.found.violated


def check(
    lines: Iterable[bytes],
    allow: Collection[str] = (),
    *,
    partial: bool = False,
    watch: Callable[[Judge], None] | None = None,
) -> Verdict:
    """Judge a trace in one pass. Raises `TraceError` for what is none; `watch` sees the judge after every line."""
    trace = Trace(lines, partial=partial)
    wrong = facts.nonsense(trace.header)
    if wrong:
        raise TraceError(1, wrong)
    strange = sorted(set(allow) - set(facts.promises(trace.header.profile)))
    if strange:
        raise TraceError(1, f"{strange[0]} is waived, which profile {trace.header.profile} does not promise")
    unknown = facts.unknown(trace.header)
    found = Occurrences(frozenset(allow) | frozenset(trace.header.allow), frozenset(unknown))
    make: Any = GenerateJudge if trace.header.profile == "generate" else EngineJudge
    judge: Judge = make(trace.header, trace.dialect, found)
    for message in trace:
        judge.feed(message, trace.line)
        if watch is not None:
            watch(judge)
    judge.finish()
    steps = judge.reading.steps if isinstance(judge, EngineJudge) else judge.calls
    fates = [_fate(name, judge, found, unknown, trace.ended) for name in facts.promises(trace.header.profile)]
    return Verdict(trace.header.profile, trace.line, judge.calls, steps, trace.ended, found, fates)


def _fate(name: str, judge: Judge, found: Occurrences, unknown: dict[str, str], complete: bool) -> Fate:
    count = found.count[name]
    if name in found.allowed:
        said = unknown.get(name, "" if count else "this waiver was not needed")
        return Fate(name, "waived", count, said)
    if count:
        return Fate(name, "violated", count)
    why = unknown.get(name) or _no_occasion(name, judge, complete)
    return Fate(name, "not judged" if why else "holds", 0, why)


def _no_occasion(name: str, judge: Judge, complete: bool) -> str:
    """Why nothing in the trace could have broken a promise."""
    if not complete and name in facts.AT_END:
        return "the trace has no end"
    if isinstance(judge, EngineJudge):
        witness: Any = EVERY[name].witness
        return "" if witness(judge.reading) else "no occasion in the trace"
    if name == "failure/surfaces":
        return "" if judge.failures else "no call of the model failed"
    return "" if judge.calls or name in facts.AT_END else "the trace has no call"
