"""The words and figures that every rendering shares: terminal, SVG, HTML and JSON."""

from __future__ import annotations

from typing import Any, NamedTuple

from conformance.comparison.measure import Comparison, Run
from conformance.comparison.workload import Workload


class Figure(NamedTuple):
    """One line of the summary. A `detail` refines the line above it."""

    name: str
    static: str
    continuous: str
    difference: str
    detail: bool = False


def number(value: float) -> str:
    """Write a count with thousands separated, and an average with one decimal."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def short(value: float) -> str:
    return number(int(value) if value == int(value) else value)


def count(value: int, noun: str) -> str:
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def difference(static: float, continuous: float) -> str:
    """Say how far continuous is from static, in the unit of both and in per cent of static."""
    if static == continuous:
        return "same"
    sign = "+" if continuous > static else "-"
    change = f"{sign}{number(abs(continuous - static))}"
    return f"{change} ({100 * (continuous - static) / static:+.0f} %)" if static else change


def average(total: int, run: Run) -> float:
    return total / max(1, len(run.calls))


def highest(run: Run, quantity: str) -> int:
    return max((getattr(call, quantity) for call in run.calls), default=0)


def figures(comparison: Comparison) -> list[Figure]:
    """List the summary, in the order in which it is read: calls, room, cost."""
    static, continuous = comparison.runs
    workload = comparison.workload
    bound = number(workload.lower_bound)

    def line(name: str, one: float, other: float, detail: bool = False) -> Figure:
        return Figure(name, number(one), number(other), difference(one, other), detail)

    def cost(name: str, quantity: str) -> list[Figure]:
        one, other = getattr(static, quantity), getattr(continuous, quantity)
        return [
            line(name, one, other),
            line("average call", average(one, static), average(other, continuous), detail=True),
            line("heaviest call", highest(static, quantity), highest(continuous, quantity), detail=True),
        ]

    return [
        line("model calls", len(static.calls), len(continuous.calls)),
        Figure("max(longest, ceil(total/slots))", bound, bound, "lower bound", detail=True),
        *cost("rows", "rows"),
        line("idle slot-steps", static.idle, continuous.idle),
        line("while a request waits", static.idle_while_waiting, continuous.idle_while_waiting, detail=True),
        line(f"pad rows, if all calls have {count(workload.num_slots, 'row')}", static.pad_rows, continuous.pad_rows),
        *cost("prefix tokens read, no cache", "prefix_tokens"),
        *cost("new tokens, with a cache", "new_tokens"),
    ]


def listed(values: tuple[int, ...], most: int = 12) -> str:
    shown = " ".join(str(value) for value in values[:most])
    return f"{shown} …" if len(values) > most else shown


def lengths_line(workload: Workload) -> str:
    """Describe the requests."""
    origin = listed(workload.lengths) if workload.lengths_origin == "given" else workload.lengths_origin
    tokens = f"{count(workload.total, 'token')} in all, longest {workload.longest:,}"
    return f"{count(len(workload.lengths), 'request')}; lengths {origin}; {tokens}"


def prompts_line(workload: Workload) -> str:
    """Describe the prompts and the slots."""
    prompts = set(workload.prompt_lengths)
    if len(prompts) == 1:
        said = f"prompts of {count(prompts.pop(), 'token')}"
    elif workload.prompts_origin == "given":
        said = f"prompt lengths {listed(workload.prompt_lengths)}"
    else:
        said = f"prompt lengths {workload.prompts_origin}"
    return f"{said}; {count(workload.num_slots, 'slot')}"


def headline(comparison: Comparison) -> str:
    """Say in one sentence which needs fewer calls, and how near that is to the best possible."""
    static, continuous = len(comparison.static.calls), len(comparison.continuous.calls)
    bound = f"lower bound {comparison.workload.lower_bound:,}"
    if static == continuous:
        return f"Static and continuous: {count(static, 'call')} each; {bound}."
    saved = f"{100 * (static - continuous) / static:.0f} % fewer"
    return f"Static {count(static, 'call')}, continuous {continuous:,} ({saved}); {bound}."


def run_line(run: Run) -> str:
    """Head a timeline."""
    slot_steps = len(run.lanes) * len(run.calls)
    share = f" ({100 * run.idle / slot_steps:.0f} %)" if slot_steps else ""
    return f"{count(len(run.calls), 'call')}, {run.idle:,} of {slot_steps:,} slot-steps idle{share}"


def run_data(run: Run) -> dict[str, Any]:
    return {
        "calls": len(run.calls),
        "rows": run.rows,
        "idle_slot_steps": run.idle,
        "idle_while_waiting": run.idle_while_waiting,
        "pad_rows": run.pad_rows,
        "prefix_tokens": run.prefix_tokens,
        "new_tokens": run.new_tokens,
        "per_call": {
            "rows": [call.rows for call in run.calls],
            "prefix_tokens": [call.prefix_tokens for call in run.calls],
            "new_tokens": [call.new_tokens for call in run.calls],
        },
        "slots": [[stay._asdict() for stay in lane] for lane in run.lanes],
    }


def data(comparison: Comparison) -> dict[str, Any]:
    """Everything that was measured, as plain data for JSON. Calls and requests count from 0."""
    workload = comparison.workload
    return {
        "schema": 1,
        "workload": {
            "lengths": list(workload.lengths),
            "prompt_lengths": list(workload.prompt_lengths),
            "slots": workload.num_slots,
            "lengths_origin": workload.lengths_origin,
            "prompts_origin": workload.prompts_origin,
            "total": workload.total,
            "longest": workload.longest,
            "spread": round(workload.spread, 4),
        },
        "bounds": {"lower": workload.lower_bound, "upper": workload.upper_bound},
        **{run.name: run_data(run) for run in comparison.runs},
    }
