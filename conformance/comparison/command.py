"""The command `slotspec compare`."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from conformance.comparison.arguments import build_workload, parse_lengths
from conformance.comparison.files import write_files
from conformance.comparison.measure import compare as run_both
from conformance.comparison.terminal import print_comparison
from conformance.comparison.words import data
from conformance.comparison.workload import DESCRIPTIONS, DISTRIBUTIONS

FILE = click.Path(dir_okay=False, path_type=Path)
KINDS = click.Choice(list(DISTRIBUTIONS))
EPILOG = "\b\nDistributions, each with the mean asked for:\n" + "\n".join(
    f"  {name:<10} {said}" for name, said in DESCRIPTIONS.items()
)


@click.command(name="compare", epilog=EPILOG)
@click.option(
    "--lengths",
    metavar="NUMBERS",
    callback=parse_lengths,
    help="Tokens each request generates, such as 3,1,4,1,5. 0 is legal.",
)
@click.option("--distribution", type=KINDS, help="Draw the lengths instead.")
@click.option("--requests", type=click.IntRange(1, 100_000), default=64, show_default=True, help="How many to draw.")
@click.option("--mean", type=click.IntRange(1, 10**6), default=20, show_default=True, help="Mean of the lengths drawn.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same lengths.")
@click.option(
    "--prompt-lengths",
    metavar="NUMBERS",
    callback=parse_lengths,
    default="1",
    show_default=True,
    help="Tokens in each prompt: one number for all, or one each.",
)
@click.option("--prompt-distribution", type=KINDS, help="Draw the prompt lengths instead.")
@click.option(
    "--prompt-mean", type=click.IntRange(1, 10**6), default=20, show_default=True, help="Mean of the prompts drawn."
)
@click.option("--slots", type=click.IntRange(1, 10_000), default=4, show_default=True, help="Sequences in one call.")
@click.option("--svg", type=FILE, help="Write the timelines as a picture.")
@click.option("--html", type=FILE, help="Write the figures and timelines as one self-contained page.")
@click.option("--json", "as_json", is_flag=True, help="Print everything measured as JSON, and nothing else.")
@click.pass_context
def compare(
    ctx: click.Context, /, svg: Path | None, html: Path | None, as_json: bool, **workload_options: object
) -> None:
    """Compare static with continuous batching on one workload, by running both.

    Static batching starts the next batch when all of a batch have finished; continuous batching
    refills a slot as soon as it is free. Prints the model calls, what each costs, and who held
    which slot when.
    """
    if svg and html and svg.resolve() == html.resolve():
        raise click.UsageError("--svg and --html name the same file.")
    comparison = run_both(build_workload(ctx))
    files: dict[Path, str] = {}
    if svg or html:
        # Jinja is slow to import, and most runs draw nothing.
        from conformance.comparison.render import render_html, render_svg

        files |= {svg: render_svg(comparison)} if svg else {}
        files |= {html: render_html(comparison)} if html else {}
    write_files(files)
    if as_json:
        click.echo(json.dumps(data(comparison)))
    else:
        print_comparison(comparison, Console(highlight=False, soft_wrap=False))
    for path in files:
        click.echo(f"Wrote {path}", err=True)
