"""The picture: for each policy the latencies of the short requests, and the prefix tokens computed again."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import log10

from conformance.comparison.words import short as abbreviated
from conformance.fair.measure import LONG, SHORTS, SLOTS, Outcome

WIDTH, LEFT, ROW = 960, 150, 34
PLOT, BARS = (LEFT, 640), (690, 860)
FIRST, LAST = 10, 3_000  # the ends of the axis of calls
TICKS = (10, 30, 100, 300, 1_000, 3_000)
STYLE = """
text { font: 12.5px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: #1b1f24; }
text { font-variant-numeric: tabular-nums; }
.heading { font-size: 19px; font-weight: 650; }
.name { font-size: 15px; font-weight: 650; }
.soft { font-size: 13px; fill: #57606a; }
.faint { font-size: 11.5px; fill: #57606a; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.ground { fill: #ffffff; }
.grid { stroke: #d8dee4; fill: none; }
.fifo { --c: #b3261e; } .q64 { --c: #8fb4dc; } .q16 { --c: #4f8ac9; } .q4 { --c: #1f5a9e; } .mlfq { --c: #2f8f83; }
.span { stroke: var(--c); stroke-width: 5; stroke-linecap: round; stroke-opacity: .38; fill: none; }
.rest { stroke: var(--c); stroke-width: 2; stroke-dasharray: 2 3; fill: none; }
.median { fill: var(--c); }
.p99 { stroke: var(--c); stroke-width: 3; fill: none; }
.worst { stroke: var(--c); stroke-width: 2; fill: #ffffff; }
.bar { fill: var(--c); }
.key { --c: #57606a; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .soft, .faint { fill: #9aa5b1; }
.ground, .worst { fill: #0f141a; } .grid { stroke: #303943; }
.fifo { --c: #ff8a80; } .q64 { --c: #b9d3ee; } .q16 { --c: #77aadd; } .q4 { --c: #4d8fd6; } .mlfq { --c: #4bb5a7; }
.key { --c: #9aa5b1; }
}
"""


def x(calls: float) -> float:
    """The place of a number of calls, on a logarithmic axis."""
    share = (log10(calls) - log10(FIRST)) / (log10(LAST) - log10(FIRST))
    return round(PLOT[0] + share * (PLOT[1] - PLOT[0]), 1)


def text(left: float, top: float, words: str, style: str = "") -> str:
    return f'<text x="{left:g}" y="{top:g}" class="{style}">{escape(words)}</text>'


def svg(found: dict[int, list[Outcome]]) -> str:
    """Draw everything. The same outcomes give the same text."""
    title = "Short requests beside very long ones: what fairness gives, and what it costs"
    body = [text(24, 38, title, "heading"), *_legend(66)]
    top, most = 116.0, max(outcome.again for outcomes in found.values() for outcome in outcomes) or 1
    for longs, outcomes in found.items():
        body += _panel(longs, outcomes, top, most)
        top += 88 + ROW * len(outcomes)
    height = top - 12
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" '
        f'height="{height:g}" role="img" aria-label="{escape(title)}">'
    )
    ground = f'<rect class="ground" width="{WIDTH}" height="{height:g}" rx="8"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", ground, *body, "</svg>"]) + "\n"


def _legend(y: float) -> Iterator[str]:
    words = f"{SHORTS} short requests, {SLOTS} slots. Latency of a short request in model calls, from arrival to end:"
    yield text(24, y, words, "soft")
    yield f'<g class="key"><circle class="median" cx="652" cy="{y - 4}" r="5.5"/>{text(664, y, "median", "soft")}'
    yield f'<path class="p99" d="M728 {y - 10}v12"/>{text(736, y, "99 %", "soft")}'
    yield f'<circle class="worst" cx="785" cy="{y - 4}" r="4.5"/>{text(796, y, "worst", "soft")}</g>'


def _panel(longs: int, outcomes: list[Outcome], top: float, most: int) -> Iterator[str]:
    many = "one very long request" if longs == 1 else f"{longs} very long ones, as many as slots"
    yield text(24, top, f"Beside {many} ({LONG:,} tokens{'' if longs == 1 else ' each'})", "name")
    yield text(BARS[0], top, "prefix tokens computed again", "soft")
    bottom = top + 22 + ROW * len(outcomes)
    for tick in TICKS:
        yield f'<path class="grid" d="M{x(tick)} {top + 14:g}V{bottom:g}"/>'
        yield text(x(tick), bottom + 17, f"{tick:,}", "faint middle")
    yield text(LEFT - 16, bottom + 17, "calls", "faint end")
    for index, outcome in enumerate(outcomes):
        yield from _row(outcome, top + 20 + ROW * (index + 0.5), most)


def _row(outcome: Outcome, y: float, most: int) -> Iterator[str]:
    median, high, worst = outcome.quantile(0.5), outcome.quantile(0.99), outcome.short[-1]
    yield f'<g class="{outcome.policy.style}">{text(LEFT - 16, y + 4, outcome.policy.name, "end")}'
    yield f'<path class="span" d="M{x(median)} {y:g}H{x(high)}"/><path class="rest" d="M{x(high)} {y:g}H{x(worst)}"/>'
    yield f'<circle class="median" cx="{x(median)}" cy="{y:g}" r="6"/><path class="p99" d="M{x(high)} {y - 7:g}v14"/>'
    yield f'<circle class="worst" cx="{x(worst)}" cy="{y:g}" r="4.5"/>'
    yield text(x(median), y - 10, f"{median:,}", "faint middle")
    yield text(x(worst) + 11, y + 4, f"{worst:,}", "faint")
    width = round(outcome.again / most * (BARS[1] - BARS[0]), 1)
    yield f'<rect class="bar" x="{BARS[0]}" y="{y - 7:g}" width="{width}" height="14" rx="2"/>'
    yield text(BARS[0] + width + 8, y + 4, abbreviated(outcome.again) if outcome.again else "none", "faint")
    yield "</g>"
