"""The command `slotspec engines`: real engines under the invariants of the engine profile."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

import click

from conformance.engine.report import block
from conformance.engines import adapters
from conformance.engines.record import recorded, written
from conformance.engines.study import EngineStudy, Progress, statuses
from conformance.targets import TargetError

WIDTH = 78


@click.command(name="engines")
@click.argument("names", nargs=-1, metavar="[ADAPTER]...")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=60.0, show_default=True, help="Budget for each.")
@click.option("--examples", type=click.IntRange(min=1), default=100_000, help="At most so many scripts for each.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The order of the scripts.")
@click.option("--list", "listing", is_flag=True, help="List the adapters, and how to install their engines.")
@click.option("--record", is_flag=True, help="Keep the results in docs/engines, and write docs/engines.md anew.")
def engines(*, names: tuple[str, ...], seconds: float, examples: int, seed: int, listing: bool, record: bool) -> None:
    """Try real engines, as installed, through their adapters in variants/engines.

    Without an ADAPTER, all whose engines are installed. Exit status: 0 nothing is violated, 1 something
    is, or a declared deviation does not occur, 2 usage, 130 interrupted.
    """
    if listing:
        for line in _listed():
            click.echo(line)
        return
    try:
        chosen = [adapters.adapter(name) for name in names or _installed()]
    except TargetError as error:
        raise click.UsageError(str(error)) from None
    fine = True
    try:
        for adapter in chosen:
            study = EngineStudy(adapter)
            with _progress(adapter.engine, seconds) as progress:
                study.campaign(seed, examples, seconds, progress)
            click.echo("\n".join(summary(study)))
            fine = fine and not study.findings and not study.idle()
            if record:
                click.echo(f"Wrote {written(recorded(study, seed))}", err=True)
    except KeyboardInterrupt:
        click.echo("Interrupted; what was recorded stays.", err=True)
        sys.exit(130)
    if record:
        from conformance.engines import page

        page.write()
    sys.exit(0 if fine else 1)


def _installed() -> list[str]:
    found = [name for name, constants in adapters.names().items() if not adapters.lacking(constants)]
    if not found:
        raise click.UsageError("No engine is installed; slotspec engines --list says how.")
    return found


def _listed() -> Iterator[str]:
    for name, constants in adapters.names().items():
        missing = adapters.lacking(constants)
        state = f"not installed: {adapters.how_to_install(constants)}" if missing else "installed"
        yield f"{name.rpartition('.')[2]:<28} {constants['ENGINE']}; {state}"


def summary(study: EngineStudy) -> Iterator[str]:
    """The lines that a person reads."""
    adapter = study.adapter
    versions = ", ".join(f"{package} {version}" for package, version in adapter.versions.items())
    yield f"{adapter.engine} ({versions or 'no package'}): {study.tried.total()} examples, {study.rate:.0f} a second"
    by_status: dict[str, list[str]] = {}
    for name, status in statuses(study).items():
        by_status.setdefault(status, []).append(name)
    for status in ("holds", "weaker", "violated", "not judged", "not tried"):
        if names := by_status.get(status):
            yield from textwrap.wrap(
                f"  {status:<10} " + ", ".join(names), WIDTH, subsequent_indent=" " * 13, break_on_hyphens=False
            )
    for one in study.idle():
        yield f"  declared, and did not occur: {one.invariant}: {one.words}"
    for _, finding in sorted(study.findings.items()):
        yield ""
        yield block(finding, study.dialect, study.reader(finding.history))


@contextmanager
def _progress(engine: str, seconds: float) -> Iterator[Progress]:
    """A bar of the budget that is used up, where somebody watches."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task(engine, total=seconds)
        yield lambda number, spent: bar.update(shown, completed=spent, description=f"{engine}: {number} examples")
