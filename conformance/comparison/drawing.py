"""Where everything in the picture goes: plain rectangles, paths and labels for the template to write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from conformance.comparison import palette, words
from conformance.comparison.measure import Comparison, Run
from conformance.comparison.timeline import Gap, Stay, bin_size, bins, busy_share, gaps

WIDTH = 960
LEFT, RIGHT = 140, 28
PLOT = WIDTH - LEFT - RIGHT
WIDEST_CALL = 64.0
MOST_LANES = 64
MOST_STAYS = 4_000
MOST_COLUMNS = 2 * PLOT
CHART_HEIGHT = 40
CHARTS = {"prefix_tokens": ("prefix tokens read", "without a cache"), "new_tokens": ("new tokens", "with a cache")}


class Box(NamedTuple):
    """A rectangle with a style class, the text inside it (perhaps none) and the text shown on hovering."""

    x: float
    y: float
    width: float
    height: float
    style: str
    label: str
    hint: str


class Mark(NamedTuple):
    """A text or a tick at a point."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Chart:
    """Bars, one for each call or for each stretch of calls. `values` are written on top where they fit."""

    base: float
    path: str
    names: tuple[str, str]
    highest: str
    values: list[Mark]
    style: str


@dataclass(frozen=True)
class Panel:
    """One run."""

    name: str
    caption: str
    top: float
    lanes_top: float
    lanes_bottom: float
    right: float
    boxes: list[Box]
    slots: list[Mark]
    ticks: list[Mark]
    charts: list[Chart]
    bound: float


@dataclass(frozen=True)
class Scene:
    """The whole picture. Sizes are in pixels at a zoom of 1."""

    width: int
    height: float
    panels: list[Panel]
    legend: float
    hatched: bool
    plain: bool
    merged: bool
    notes: list[str]


class Scale(NamedTuple):
    """What both panels share: the width of a call, the height of a lane, the calls drawn as one."""

    call: float
    lane: float
    gap: float
    size: int
    merged: bool
    peaks: dict[str, float]

    def x(self, call: float) -> float:
        return round(LEFT + call * self.call, 2)


def draw(comparison: Comparison, top: float) -> Scene:
    """Lay out both runs on one scale, from `top` downwards."""
    scale = choose_scale(comparison)
    panels: list[Panel] = []
    y = top
    for run in comparison.runs:
        panel, y = draw_panel(run, comparison, scale, y)
        panels.append(panel)
    notes = draw_notes(comparison, scale)
    styles = {box.style for panel in panels for box in panel.boxes}
    height = y + 34 + 18 * len(notes)
    return Scene(WIDTH, round(height, 2), panels, y, "waste" in styles, "idle" in styles, scale.merged, notes)


def choose_scale(comparison: Comparison) -> Scale:
    columns = max(1, comparison.columns)
    call = min(WIDEST_CALL, PLOT / columns)
    slots = min(MOST_LANES, comparison.workload.num_slots)
    lane = 24.0 if slots <= 8 else max(6.0, 200 / slots)
    drawn = sum(len(lane) for lane in comparison.static.lanes[:MOST_LANES])
    size = bin_size(columns, PLOT // 2)
    peaks = {
        quantity: max((value for run in comparison.runs for value in averages(run, quantity, size)), default=0)
        for quantity in CHARTS
    }
    return Scale(call, lane, 3.0 if lane > 12 else 1.0, size, columns > MOST_COLUMNS or drawn > MOST_STAYS, peaks)


def draw_notes(comparison: Comparison, scale: Scale) -> list[str]:
    notes = []
    hidden = comparison.workload.num_slots - MOST_LANES
    if scale.merged:
        notes.append(f"Scaled: one column is {words.count(scale.size, 'call')}, shaded by how many of them are busy.")
    if scale.size > 1:
        notes.append(f"Scaled: one bar is the average of {scale.size} calls.")
    if hidden > 0:
        notes.append(f"Cut: the last {words.count(hidden, 'slot')} not drawn.")
    return notes


def draw_panel(run: Run, comparison: Comparison, scale: Scale, top: float) -> tuple[Panel, float]:
    """Draw one run below `top`; return it with the y where the next may begin."""
    lanes = run.lanes[:MOST_LANES]
    first, pitch = top + 34, scale.lane + scale.gap
    boxes = [box for slot, lane in enumerate(lanes) for box in draw_lane(run, slot, lane, first + slot * pitch, scale)]
    bottom = first + len(lanes) * pitch
    every = max(1, round(14 / pitch + 0.49))
    slots = [
        Mark(LEFT - 10, round(first + slot * pitch + scale.lane / 2 + 4, 2), f"slot {slot}")
        for slot in range(0, len(lanes), every)
    ]
    charts, y = [], bottom + 26
    for quantity in CHARTS:
        y += CHART_HEIGHT + 24
        charts.append(draw_chart(run, quantity, y, scale))
    panel = Panel(
        name=run.name.capitalize(),
        caption=words.run_line(run),
        top=top,
        lanes_top=first,
        lanes_bottom=round(bottom, 2),
        right=scale.x(len(run.calls)),
        boxes=boxes,
        slots=slots,
        ticks=[Mark(scale.x(call), round(bottom + 16, 2), f"{call:,}") for call in ticks(run, scale)],
        charts=charts,
        bound=scale.x(comparison.workload.lower_bound),
    )
    return panel, y + 34


def ticks(run: Run, scale: Scale) -> list[int]:
    """Round numbers of calls, far enough apart, and the last call in any case."""
    last = len(run.calls)
    steps = (factor * 10**power for power in range(8) for factor in (1, 2, 5))
    step = next(step for step in steps if step * scale.call >= 48)
    return [call for call in range(0, last, step) if (last - call) * scale.call >= 44] + [last]


def draw_lane(run: Run, slot: int, lane: tuple[Stay, ...], y: float, scale: Scale) -> Iterator[Box]:
    if scale.merged:
        yield from draw_shares(run, slot, lane, y, scale)
        return
    for stay in lane:
        yield draw_stay(stay, slot, y, scale)
    for gap in gaps(lane, len(run.calls), run.waits_until):
        yield draw_gap(gap, slot, y, scale)


def span(start: int, end: int, scale: Scale) -> tuple[float, float]:
    """The left side and the width, with a hair of room on the right so that neighbours stay apart."""
    width = (end - start) * scale.call
    return scale.x(start), round(width - min(2.0, width / 4), 2)


def draw_stay(stay: Stay, slot: int, y: float, scale: Scale) -> Box:
    x, width = span(stay.start, stay.end, scale)
    name = f"r{stay.request}"
    label = name if scale.lane >= 12 and width >= 8 * len(name) + 2 else ""
    hint = f"{name} in slot {slot}: {calls_hint(stay.start, stay.end)}"
    return Box(x, round(y, 2), width, round(scale.lane, 2), f"q{palette.colour(stay.request)}", label, hint)


def draw_gap(gap: Gap, slot: int, y: float, scale: Scale) -> Box:
    x, width = span(gap.start, gap.end, scale)
    reason = "a request waits" if gap.waiting else "nothing waits"
    hint = f"slot {slot} idle while {reason}: {calls_hint(gap.start, gap.end)}"
    return Box(x, round(y, 2), width, round(scale.lane, 2), "waste" if gap.waiting else "idle", "", hint)


def calls_hint(start: int, end: int) -> str:
    return f"call {start + 1}" if end == start + 1 else f"calls {start + 1} to {end} ({end - start})"


def draw_shares(run: Run, slot: int, lane: tuple[Stay, ...], y: float, scale: Scale) -> Iterator[Box]:
    """Draw a lane too dense for single stays: neighbours of one shade, of five, become one box."""
    stretches = bins(len(run.calls), scale.size)
    levels = [round(4 * share) for share in busy_share(lane, stretches)]
    first = 0
    for index in range(1, len(levels) + 1):
        if index == len(levels) or levels[index] != levels[first]:
            start, end = stretches[first][0], stretches[index - 1][1]
            hint = f"slot {slot}: about {25 * levels[first]} % busy, {calls_hint(start, end)}"
            width = round((end - start) * scale.call, 2)
            yield Box(scale.x(start), round(y, 2), width, round(scale.lane, 2), f"share{levels[first]}", "", hint)
            first = index


def averages(run: Run, quantity: str, size: int) -> list[float]:
    values = [getattr(call, quantity) for call in run.calls]
    return [sum(values[start:end]) / (end - start) for start, end in bins(len(values), size)]


def draw_chart(run: Run, quantity: str, base: float, scale: Scale) -> Chart:
    """Draw a quantity of every call as bars that stand on `base`."""
    values = averages(run, quantity, scale.size)
    peak = scale.peaks[quantity] or 1
    column = scale.size * scale.call
    gap = min(2.0, column / 4) if column >= 4 else 0.0
    pieces, marks = [], []
    for index, value in enumerate(values):
        x, height = scale.x(index * scale.size), round(CHART_HEIGHT * value / peak, 2)
        width = round(min(column, scale.x(len(run.calls)) - x) - gap, 2)
        pieces.append(f"M{x:g} {base:g}v{-height:g}h{width:g}v{height:g}z")
        text = words.short(value)
        if column >= 7.5 * len(text) + 4:
            marks.append(Mark(round(x + width / 2, 2), round(base - height - 4, 2), text))
    highest = f"heaviest call {words.highest(run, quantity):,}"
    return Chart(round(base, 2), "".join(pieces), CHARTS[quantity], highest, marks, quantity)
