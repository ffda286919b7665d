"""The command `slotspec prove`."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from conformance.proving.theorem import Line, Theorem

INTERRUPTED = 130
ONLY = click.Choice(["z3", "dafny", "crosshair", "bridge"])
FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(name="prove")
@click.option("--only", multiple=True, type=ONLY, help="This part only; can be given several times.  [default: all]")
@click.option("-k", "containing", default="", metavar="TEXT", help="Theorems whose name or statement has TEXT in it.")
@click.option("--json", "json_file", type=FILE, help="Write what is printed, and more, as JSON.")
@click.option("--require", multiple=True, type=click.Choice(["dafny"]), help="Fail where it is not installed.")
@click.option("--list", "listing", is_flag=True, help="Say what the theorems state, and decide nothing.")
@click.pass_context
def prove(
    ctx: click.Context,
    /,
    *,
    only: tuple[str, ...],
    containing: str,
    json_file: Path | None,
    require: tuple[str, ...],
    listing: bool,
) -> None:
    """Prove the theorems about the transition system, and check that it is the code's.

    z3 and Dafny prove, CrossHair executes symbolically, and the bridge compares and replays. Each
    theorem has negative controls, broken copies that must be refuted: ctrl says how many were.
    Exits with 0 if every theorem holds, and 1 if one does not. Where Dafny is not installed its
    theorems are not run, which fails under CI or --require dafny only.
    """
    # z3 and Hypothesis are slow to import, and --help needs neither.
    from rich.console import Console

    from conformance.proving import catalogue

    theorems = catalogue.theorems(only, containing)
    if not theorems:
        raise click.UsageError(f"No theorem has {containing!r} in its name or statement.")
    console = Console(highlight=False, soft_wrap=True)
    if listing:
        for theorem in theorems:
            click.echo(f"{theorem.name}\n    {theorem.statement}\n    {theorem.scope}; {theorem.method}")
        return
    lines: list[Line] = []
    try:
        with interruptible() as stop_if_pressed:
            for line in decided(console, theorems):
                lines.append(line)
                stop_if_pressed()
    except KeyboardInterrupt:
        console.print(f"Interrupted after {len(lines)} of {len(theorems)} theorems.")
        ctx.exit(INTERRUPTED)
    finish(ctx, console, lines, json_file, strict=bool(os.environ.get("CI")) or "dafny" in require)


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Let an interrupt from the keyboard end the run as one; yield what raises it where it got lost.

    It does get lost: z3 frees terms in `__del__`, where Python drops exceptions, or makes others of them.
    """
    pressed = False

    def press(number: int, frame: object) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    def stop_if_pressed() -> None:
        if pressed:
            raise KeyboardInterrupt

    def drop(dropped: sys.UnraisableHookArgs) -> None:
        if not pressed:
            sys.__unraisablehook__(dropped)

    previous = signal.signal(signal.SIGINT, press), sys.unraisablehook
    sys.unraisablehook = drop
    try:
        yield stop_if_pressed
    except Exception:
        stop_if_pressed()
        raise
    finally:
        signal.signal(signal.SIGINT, previous[0])
        sys.unraisablehook = previous[1]


def decided(console: Console, theorems: Sequence[Theorem]) -> Iterator[Line]:
    """Decide one theorem after another; print each when it is decided, and on a terminal what is under way."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from conformance.proving import printing

    said = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), said, BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn())
    console.print(printing.heading())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(theorems))
        for theorem in theorems:
            progress.update(task, description=theorem.name)
            line = theorem.decide()
            printing.print_line(console, line)
            progress.advance(task)
            yield line


def finish(ctx: click.Context, console: Console, lines: list[Line], json_file: Path | None, *, strict: bool) -> None:
    """Print the summary, write the file, and exit with the status."""
    from conformance.comparison.files import write_files
    from conformance.proving import printing

    fails = any(not line.holds and (line.ran or strict) for line in lines)
    console.print(printing.summary(lines))
    if json_file:
        data = {"schema": 1, "holds": not fails, "theorems": [line.data() for line in lines]}
        write_files({json_file: json.dumps(data, indent=2, ensure_ascii=False) + "\n"})
    ctx.exit(1 if fails else 0)
