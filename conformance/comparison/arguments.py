"""From the options of the command to a workload, with one clear line where they make none."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click
from click.core import ParameterSource

from conformance.comparison.workload import MOST_WORK, Workload, draw


def parse_lengths(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Read whole numbers of at least 0 with commas between them (a click callback)."""
    if value is None:
        return None
    if not value.strip():
        raise click.BadParameter("give at least one number.")
    return tuple(parse_length(piece.strip()) for piece in value.split(","))


def parse_length(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,30}", text):
        raise click.BadParameter(f"{shortened(text)!r} is not a whole number; write for example 3,1,4,1,5.")
    if int(text) < 0:
        raise click.BadParameter(f"{text} is below 0.")
    return int(text)


def shortened(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}..."


def explicit(ctx: click.Context, names: Sequence[str]) -> list[str]:
    """The options among `names` that the user wrote, as they are written."""
    written = [name for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    return [f"--{name.replace('_', '-')}" for name in written]


def refuse(options: list[str], other: str) -> None:
    """Complain about options that would be ignored."""
    if options:
        raise click.UsageError(f"{' and '.join(options)} {'goes' if len(options) == 1 else 'go'} with {other} only.")


def build_workload(ctx: click.Context) -> Workload:
    """Check that the options fit together, and make the workload they describe."""
    chosen = ctx.params
    lengths, lengths_origin = build_lengths(ctx)
    prompts, prompts_origin = build_prompts(ctx, len(lengths))
    workload = Workload(lengths, prompts, chosen["slots"], lengths_origin, prompts_origin)
    if workload.work > MOST_WORK:
        size = f"The runs are real, and this one handles up to {workload.work:,} tokens"
        raise click.UsageError(f"{size}, more than the {MOST_WORK:,} allowed: take shorter or fewer requests.")
    return workload


def build_lengths(ctx: click.Context) -> tuple[tuple[int, ...], str]:
    lengths, distribution = ctx.params["lengths"], ctx.params["distribution"]
    if (lengths is None) == (distribution is None):
        raise click.UsageError("Give either --lengths or --distribution.")
    if lengths is not None:
        refuse(explicit(ctx, ["requests", "mean"]), "--distribution")
        return lengths, "given"
    requests, mean, seed = ctx.params["requests"], ctx.params["mean"], ctx.params["seed"]
    return draw(distribution, requests, mean, seed), origin(distribution, mean, seed)


def build_prompts(ctx: click.Context, requests: int) -> tuple[tuple[int, ...], str]:
    prompts, distribution = ctx.params["prompt_lengths"], ctx.params["prompt_distribution"]
    if distribution is None:
        refuse(explicit(ctx, ["prompt_mean"]), "--prompt-distribution")
        if ctx.params["distribution"] is None:
            refuse(explicit(ctx, ["seed"]), "--distribution or --prompt-distribution")
        if len(prompts) not in {1, requests}:
            got = f"{len(prompts)} numbers for {requests} request{'s' * (requests != 1)}"
            raise click.BadParameter(f"{got}; give one each, or one for all.", ctx, param_hint="'--prompt-lengths'")
        return (prompts * requests if len(prompts) == 1 else prompts), "given"
    if explicit(ctx, ["prompt_lengths"]):
        raise click.UsageError("Give either --prompt-lengths or --prompt-distribution.")
    mean, seed = ctx.params["prompt_mean"], ctx.params["seed"]
    return draw(distribution, requests, mean, seed, stream="prompts"), origin(distribution, mean, seed)


def origin(distribution: str, mean: int, seed: int) -> str:
    return f"{distribution}, mean {mean}, seed {seed}"
