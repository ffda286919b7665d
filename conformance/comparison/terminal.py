"""The comparison as text for a terminal, at any width from 60 columns on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.comparison import palette, words
from conformance.comparison.measure import Comparison, Cost, Run
from conformance.comparison.timeline import Gap, bin_size, bins, busy_share, gaps

MOST_LANES = 16
LABEL_WIDTH = 10
SYMBOLS = "0123456789abcdefghijklmnopqrstuvwxyz"
QUANTITIES = (("rows", "rows"), ("no cache", "prefix_tokens"), ("cache", "new_tokens"))


@dataclass(frozen=True)
class Glyphs:
    """The characters of the pictures: idle with and without a request waiting; shades; bars from low to high."""

    waste: str
    idle: str
    shades: str
    bars: str


UNICODE = Glyphs("\u2571", "·", "·░▒▓█", "▁▂▃▄▅▆▇█")
ASCII = Glyphs("!", ".", ".:+*#", "_.-:=+*#")


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the sentence, the summary, and both timelines."""
    glyphs = UNICODE if console.encoding.lower().startswith("utf") else ASCII
    console.print(Text(words.headline(comparison), style="bold"))
    for line in (words.lengths_line(comparison.workload), words.prompts_line(comparison.workload)):
        console.print(Text(line if glyphs is UNICODE else line.replace("…", "...")))
    console.print()
    console.print(summary(comparison))
    timeline, legend = choose_timeline(comparison, console.width, glyphs)
    for run in comparison.runs:
        console.print()
        console.print(Text.assemble((run.name, "bold"), f": {words.run_line(run)}"))
        for text in timeline(run):
            console.print(text, no_wrap=True, overflow="crop", crop=True)
    console.print()
    for note in (*legend, *cut_note(comparison)):
        console.print(Text(note))


def summary(comparison: Comparison) -> Table:
    """Lay out the figures of both runs side by side."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    for name in ("static", "continuous"):
        table.add_column(name, justify="right")
    table.add_column("difference")
    for figure in words.figures(comparison):
        style = "dim" if figure.detail else ""
        indent = "  " if figure.detail else ""
        table.add_row(indent + figure.name, figure.static, figure.continuous, figure.difference, style=style)
    return table


Timeline = Callable[[Run], list[Text]]


def choose_timeline(comparison: Comparison, width: int, glyphs: Glyphs) -> tuple[Timeline, list[str]]:
    """Pick the most exact picture that fits: numbers in cells, a character a call, or one for several calls."""
    room = max(20, width - LABEL_WIDTH)
    cell = cell_width(comparison)
    idle = f"{glyphs.waste} idle while a request waits, {glyphs.idle} idle and nothing waits."
    costs = "no cache: prefix tokens read; cache: new tokens."
    if comparison.columns * cell <= room:
        return lambda run: cells(run, cell, glyphs), [f"One column is one call. {idle}", f"Of each call, {costs}"]
    size = bin_size(comparison.columns, room)
    high = {quantity: highest_bin(comparison, quantity, size) for _, quantity in QUANTITIES}
    full = ", ".join(f"{name} {words.short(high[quantity])}" for name, quantity in QUANTITIES)
    scale = [f"A full bar is: {full}.", f"Of each call, {costs}"]
    if size == 1:
        letters = "One column is one call; the character is the request (0-9, a-z, then again)."
        return lambda run: characters(run, high, glyphs), [letters, idle, *scale]
    scaled = f"Scaled: one column is {size} calls. A bar is their average; {glyphs.shades} is how many are busy."
    return lambda run: shades(run, size, high, glyphs), [scaled, *scale]


def cut_note(comparison: Comparison) -> list[str]:
    hidden = comparison.workload.num_slots - MOST_LANES
    return [f"Cut: the last {words.count(hidden, 'slot')} not drawn."] if hidden > 0 else []


def label(text: str) -> Text:
    return Text(f"{text:<{LABEL_WIDTH}}", style="dim")


def request_style(request: int) -> str:
    return f"{palette.INK} on {palette.COLOURS[palette.colour(request)]}"


def cell_width(comparison: Comparison) -> int:
    """The width of one call where every label and number is to be written out."""
    numbers = [getattr(call, name) for run in comparison.runs for call in run.calls for _, name in QUANTITIES]
    texts = [f"r{max(0, len(comparison.workload.lengths) - 1)}", *(str(value) for value in numbers)]
    return 1 + max(len(text) for text in texts)


def cells(run: Run, cell: int, glyphs: Glyphs) -> list[Text]:
    """Draw the timeline with a label in every cell and every cost as a number."""
    lines = []
    for slot, lane in enumerate(run.lanes[:MOST_LANES]):
        marks: list[tuple[str, str]] = [("", "")] * len(run.calls)
        for stay in lane:
            for call in range(stay.start, stay.end):
                marks[call] = (f"r{stay.request}", request_style(stay.request))
        for gap in gaps(lane, len(run.calls), run.waits_until):
            marks[gap.start : gap.end] = [idle_mark(gap, glyphs)] * (gap.end - gap.start)
        lines.append(Text.assemble(label(f"slot {slot}"), *((f"{mark:>{cell}}", style) for mark, style in marks)))
    for name, quantity in QUANTITIES:
        numbers = "".join(f"{getattr(call, quantity):>{cell}}" for call in run.calls)
        lines.append(Text.assemble(label(name), numbers))
    return lines


def idle_mark(gap: Gap, glyphs: Glyphs) -> tuple[str, str]:
    return (glyphs.waste, "bold red") if gap.waiting else (glyphs.idle, "dim")


def characters(run: Run, high: dict[str, float], glyphs: Glyphs) -> list[Text]:
    """Draw the timeline with one character a call."""
    lines = []
    for slot, lane in enumerate(run.lanes[:MOST_LANES]):
        pieces: list[tuple[int, str, str]] = []
        for stay in lane:
            symbol = SYMBOLS[stay.request % len(SYMBOLS)]
            pieces.append((stay.start, symbol * (stay.end - stay.start), request_style(stay.request)))
        for gap in gaps(lane, len(run.calls), run.waits_until):
            mark, style = idle_mark(gap, glyphs)
            pieces.append((gap.start, mark * (gap.end - gap.start), style))
        lines.append(Text.assemble(label(f"slot {slot}"), *((text, style) for _, text, style in sorted(pieces))))
    return [*lines, *bars(run, 1, high, glyphs)]


def shades(run: Run, size: int, high: dict[str, float], glyphs: Glyphs) -> list[Text]:
    """Draw the timeline with one character for `size` calls: the fuller, the busier."""
    stretches = bins(len(run.calls), size)
    lines = []
    for slot, lane in enumerate(run.lanes[:MOST_LANES]):
        text = "".join(level(share, 1.0, glyphs.shades) for share in busy_share(lane, stretches))
        lines.append(Text.assemble(label(f"slot {slot}"), (text, palette.COLOURS[0])))
    return [*lines, *bars(run, size, high, glyphs)]


def bars(run: Run, size: int, high: dict[str, float], glyphs: Glyphs) -> list[Text]:
    """Draw the cost of the calls as bars."""
    lines = []
    for name, quantity in QUANTITIES:
        values = averages(run.calls, quantity, size)
        text = "".join(level(value, high[quantity], glyphs.bars) for value in values)
        lines.append(Text.assemble(label(name), text))
    return lines


def averages(calls: tuple[Cost, ...], quantity: str, size: int) -> list[float]:
    values = [getattr(call, quantity) for call in calls]
    return [sum(values[i : i + size]) / len(values[i : i + size]) for i in range(0, len(values), size)]


def highest_bin(comparison: Comparison, quantity: str, size: int) -> float:
    return max((value for run in comparison.runs for value in averages(run.calls, quantity, size)), default=0)


def level(value: float, high: float, ramp: str) -> str:
    """Pick the character of `ramp` for `value`; only 0 gets the first of a ramp that starts with idle."""
    if value <= 0 or high <= 0:
        return ramp[0]
    return ramp[min(len(ramp) - 1, max(1, round(value / high * (len(ramp) - 1))))]
