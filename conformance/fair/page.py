"""Keep `docs/fair.md` true: its tables and its picture are what the engines do today.

The page marks what is generated: a block runs from `<!-- table: N -->`, for N long requests, to `<!-- end -->`.
`python -m conformance.fair.page` writes the page and its picture anew.
"""

from __future__ import annotations

import re
from pathlib import Path

from conformance.fair.drawing import svg
from conformance.fair.measure import Outcome, outcomes

ROOT = Path(__file__).resolve().parents[2]
PAGE, PICTURE = ROOT / "docs" / "fair.md", ROOT / "docs" / "img" / "fair.svg"
BLOCK = re.compile(r"<!-- table: (\d+) -->\n.*?<!-- end -->", re.DOTALL)
HEAD = (
    "| policy | median | 99 % | worst | last long one ends after | calls in all | prefix tokens computed again |\n"
    "|---|---:|---:|---:|---:|---:|---:|\n"
)


def table(found: list[Outcome]) -> str:
    """One line for each policy; the first three figures are of the short requests."""
    return HEAD + "".join(_line(outcome) for outcome in found)


def _line(outcome: Outcome) -> str:
    figures = (outcome.quantile(0.5), outcome.quantile(0.99), outcome.short[-1], outcome.long[-1])
    cells = [outcome.policy.name, *(f"{figure:,}" for figure in (*figures, outcome.calls, outcome.again))]
    return f"| {' | '.join(cells)} |\n"


def regenerate(text: str, found: dict[int, list[Outcome]]) -> str:
    """Return the page with every table made anew."""
    return BLOCK.sub(lambda match: f"<!-- table: {match[1]} -->\n{table(found[int(match[1])])}<!-- end -->", text)


def main() -> None:
    found = outcomes()
    PAGE.write_text(regenerate(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8", newline="\n")
    PICTURE.write_text(svg(found), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
