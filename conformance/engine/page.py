"""The timelines in docs/engine.md, made from runs: `python -m conformance.engine.page` writes them anew."""

from __future__ import annotations

import re
from pathlib import Path

from conformance.engine.catalogue import judge
from conformance.engine.drive import drive
from conformance.engine.report import block
from conformance.engine.script import Script
from conformance.engine.study import LEGS, Study
from conformance.engine.targets import REFERENCE, subject
from conformance.engine.timeline import table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "engine.md"
EXAMPLE = Script.of(
    [
        ("a", [11], 4, [15, 16, 0]),
        ("b", [21], 9, [25, 26, 27, 28]),
        ("c", [31], 2, [35, 36]),
        ("d", [41], 0, []),
        ("b", [51], 2, [55, 0]),
    ],
    [
        ("step", 0, "add", 0),
        ("step", 0, "add", 1),
        ("call", 0, "add", 2),
        ("step", 1, "add", 3),
        ("call", 1, "abort", 1),
        ("call", 1, "add", 4),
        ("call", 2, "fail"),
    ],
    num_slots=2,
    stop_token=0,
)
FLAWED = "variants.flawed.engine_abort_mark_hits_newcomer"
SPLICE = re.compile(r"(<!-- (\w+): begin -->\n\n```text\n).*?(\n```\n\n<!-- \2: end -->)", re.DOTALL)


def blocks() -> dict[str, str]:
    """The text between each pair of marks."""
    return {"reference": _life(), "violation": _violation()}


def _life() -> str:
    target = subject(REFERENCE)
    history = drive(target.make(), EXAMPLE)
    assert not judge(history, target.dialect).violations
    return table(history, target.dialect)


def _violation() -> str:
    study = Study(subject(FLAWED))
    study.search(LEGS[0], "")
    return block(next(iter(study.findings.values())), study.dialect)


def spliced(text: str) -> str:
    """The page with every block made anew."""
    made = blocks()
    return SPLICE.sub(lambda match: match[1] + made[match[2]] + match[3], text)


if __name__ == "__main__":
    PAGE.write_text(spliced(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
