"""The command `slotspec check-trace`."""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from conformance.catalogue import EVERY
from conformance.comparison.files import write_files
from conformance.tracing.check import Verdict
from conformance.tracing.check import check as judged
from conformance.tracing.reading import TraceError, lines, opened
from conformance.tracing.report import data, text

LARGE = 16 * 2**20  # bytes from which on a bar is shown
EVERY_LINES = 2_000


def _allowed(ctx: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in EVERY:
            raise click.BadParameter(f"there is no invariant {name!r}; docs/invariants.md lists them")
    return names


@click.command(name="check-trace")
@click.argument("trace", metavar="TRACE")
@click.option("--allow", multiple=True, metavar="ID", callback=_allowed, help="Waive this invariant; repeatable.")
@click.option("--partial", is_flag=True, help="Take a trace that has no end for the beginning of one.")
@click.option(
    "--json", "as_json", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it as JSON too."
)
@click.pass_context
def check_trace(ctx: click.Context, trace: str, allow: tuple[str, ...], partial: bool, as_json: Path | None) -> None:
    """Judge a recorded history, in the format of docs/traces.md.

    TRACE is a file of JSON lines, `-` for the standard input; one whose name ends in .gz is
    decompressed. Exit status: 0 no violation, 1 some, 2 the file is no trace, 130 interrupted.
    """
    try:
        with opened(trace) as file:
            verdict = judged(_shown(file, trace), allow, partial=partial)
    except TraceError as error:
        _refuse(ctx, f"{trace}: {error}")
    except (OSError, EOFError, zlib.error) as error:
        _refuse(ctx, f"Cannot read {trace}: {getattr(error, 'strerror', None) or error}.")
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        ctx.exit(130)
    _tell(ctx, verdict, as_json)


def _refuse(ctx: click.Context, what: str) -> None:
    click.echo(f"Error: {what}", err=True)
    ctx.exit(2)


def _tell(ctx: click.Context, verdict: Verdict, as_json: Path | None) -> None:
    if as_json is not None:
        write_files({as_json: json.dumps(data(verdict), indent=2, ensure_ascii=True) + "\n"})
    # Ids come from whoever wrote the trace: nothing of them may steer a terminal.
    click.echo("".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text(verdict)))
    ctx.exit(1 if verdict.violated else 0)


def _shown(file: BinaryIO, name: str) -> Iterator[bytes]:
    """The lines of a file, with a bar on a terminal where it is large."""
    size = 0 if name == "-" else os.path.getsize(name)
    if size < LARGE or not sys.stderr.isatty():
        yield from lines(file)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as progress:
        task, raw = progress.add_task("reading", total=size), getattr(file, "fileobj", file)
        for number, line in enumerate(lines(file)):
            if number % EVERY_LINES == 0:
                progress.update(task, completed=raw.tell())
            yield line
