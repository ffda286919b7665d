"""How far a grading has come: a bar where somebody watches, and otherwise a line every so often."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from time import monotonic

import click

LINE_SECONDS = 30.0
Advance = Callable[[str], None]


@contextlib.contextmanager
def progress(done: int, total: int) -> Iterator[Advance]:
    """Yield what is called after each candidate, with how it stands. One candidate alone has no progress."""
    if total == 1:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar(done, total) as advance:
            yield advance
    else:
        yield _Lines(done, total)


class _Lines:
    def __init__(self, done: int, total: int, clock: Callable[[], float] = monotonic) -> None:
        self.done, self.total, self.clock, self.last = done, total, clock, clock()

    def __call__(self, text: str) -> None:
        self.done += 1
        if self.clock() >= self.last + LINE_SECONDS:
            self.last = self.clock()
            click.echo(f"{self.done} of {self.total}: {text}", err=True)


@contextlib.contextmanager
def _bar(done: int, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task("", total=total, completed=done)
        yield lambda text: bar.update(shown, advance=1, description=text)
