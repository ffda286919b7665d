"""Verdicts as one self-contained page: the slots over time, with the offending cell marked."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from conformance.catalogue import CATALOGUE
from conformance.comparison.palette import COLOURS, INK
from conformance.grading import render_text
from conformance.grading.schema import InvariantReport, Picture, ProfileReport, Verdict
from conformance.report import DOCS

MOST_IN_FULL = 200

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def write(verdicts: Iterable[Verdict], file: IO[str]) -> None:
    """Write the page; `verdicts` is gone through twice, for the overview and for the details."""
    template = TEMPLATES.get_template("verdict.html.j2")
    shared: dict[str, Any] = {"colours": COLOURS, "ink": INK, "docs": DOCS, "clean": render_text.clean}
    overview = [_entry(number, verdict) for number, verdict in enumerate(verdicts)]
    details = (_detail(number, verdict) for number, verdict in enumerate(verdicts) if number < MOST_IN_FULL)
    for part in template.generate(shared, overview=overview, details=details, most=MOST_IN_FULL):
        file.write(part)


def _entry(number: int, verdict: Verdict) -> dict[str, Any]:
    charged = [r.name for r in render_text.of_charge(verdict, "charged", "MUST")]
    charged += [f"{r.profile}: {p.name}" for r in verdict.profiles for p in render_text.broken(r)]
    return {
        "number": number,
        "target": render_text.clean(verdict.candidate.target),
        "verdict": verdict.verdict,
        "points": f"{verdict.score.earned:g} of {verdict.score.possible:g}",
        "charged": charged,
        "note": render_text.clean(render_text.dialect_note(verdict)),
    }


def _detail(number: int, verdict: Verdict) -> dict[str, Any]:
    shown = [r for r in verdict.invariants if r.status == "violated" and r.counterexample]
    return {
        **_entry(number, verdict),
        "reason": render_text.clean(verdict.reason),
        "dialect": [line.strip() for line in render_text.dialect_lines(verdict.dialect)],
        "rubric": verdict.rubric,
        "examples": [_example(verdict, report) for report in shown],
        "invariants": verdict.invariants,
        "profiles": [_profile(report) for report in verdict.profiles],
        "bounds": verdict.bounds,
        "sandbox": verdict.sandbox,
        "facts": {
            "sha256": verdict.candidate.sha256 or "none",
            "dialect": ", ".join(f"{axis}={value}" for axis, value in verdict.dialect.axes.items()),
            "effort": verdict.effort,
            "seed": str(verdict.seed),
            "runs": f"{verdict.runs:,} with {verdict.calls:,} calls in {verdict.seconds:.1f} s",
            "sandbox": ", ".join(verdict.sandbox.layers) or "none",
            "slotspec": f"{verdict.slotspec_version}, schema {verdict.schema_version}",
        },
    }


def _profile(report: ProfileReport) -> dict[str, Any]:
    clean = render_text.clean
    shown = [p for p in report.invariants if p.example is not None]
    return {
        "name": report.profile,
        "verdict": report.verdict,
        "reason": clean(report.reason),
        "examples": [
            {"name": p.name, "level": p.level, "text": "\n".join(map(clean, p.example.text.splitlines()))}
            for p in shown
            if p.example is not None
        ],
        "invariants": report.invariants,
    }


def _example(verdict: Verdict, report: InvariantReport) -> dict[str, Any]:
    example = report.counterexample
    assert example is not None
    clean = render_text.clean
    return {
        "name": report.name,
        "anchor": CATALOGUE[report.name].anchor,
        "level": report.level,
        "charge": report.charge,
        "evidence": report.evidence,
        "place": example.place,
        "expected": clean(example.expected),
        "observed": clean(example.observed),
        "sentence": CATALOGUE[report.name].sentence,
        "why": CATALOGUE[report.name].why,
        "workload": render_text.workload_lines(example),
        "repro": render_text.repro(verdict, report.name),
        "replayed": example.replayed,
        "picture": grid(example.picture) if example.picture else None,
    }


def grid(picture: Picture) -> dict[str, Any]:
    """Turn a picture into rows of cells; a cell knows its request, its token, and whether it is the offending one."""
    columns = len(picture.lanes[0]) if picture.lanes else 0
    calls = range(picture.first, picture.first + columns)
    rows = [
        [
            {
                "request": request,
                "token": token,
                "call": call,
                "wrong": call == picture.call and slot == picture.slot,
                "column": call == picture.call and picture.slot is None,
            }
            for call, request, token in zip(calls, lane, tokens, strict=True)
        ]
        for slot, (lane, tokens) in enumerate(zip(picture.lanes, picture.tokens, strict=True))
    ]
    return {
        "calls": list(calls),
        "rows": rows,
        "note": render_text.clean(picture.note),
        "at_end": picture.call is None,
        "call": picture.call,
        "slot": picture.slot,
        "more": picture.more_slots,
    }
