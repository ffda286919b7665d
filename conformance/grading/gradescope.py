"""A verdict as Gradescope's `results.json`: a test for each line of the rubric."""

from __future__ import annotations

import json
from typing import Any

from conformance.grading.render_text import block, clean, screen
from conformance.grading.schema import LineReport, Verdict

POINTS = 100


def render(verdict: Verdict) -> str:
    """Render one verdict; the total is the share of the lines that could be graded, of 100 points."""
    data = {
        "score": round(POINTS * verdict.score.ratio, 2),
        "output": screen(verdict),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "visibility": "visible",
        "execution_time": max(1, round(verdict.seconds)),
        "tests": [_test(verdict, number, line) for number, line in enumerate(verdict.rubric, 1)],
        "extra_data": {"verdict": verdict.verdict, "seed": verdict.seed, "sha256": verdict.candidate.sha256},
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _test(verdict: Verdict, number: int, line: LineReport) -> dict[str, Any]:
    graded = line.status != "not graded"
    share = POINTS * line.points / verdict.score.possible if graded and verdict.score.possible else 0.0
    blocks = [block(verdict, report) for report in verdict.invariants if report.name in line.charged]
    told = [p.example for report in verdict.profiles for p in report.invariants if report.profile == line.id]
    blocks += ["\n".join(map(clean, example.text.splitlines())) for example in told if example]
    output = "\n\n".join(blocks) or ("" if graded else "Not graded: " + clean(verdict.reason))
    return {
        "number": str(number),
        "name": line.title,
        "status": "passed" if line.status == "passed" else "failed",
        "score": round(share, 2) if line.status == "passed" else 0.0,
        "max_score": round(share, 2),
        "output": output,
        "output_format": "text",
    }
