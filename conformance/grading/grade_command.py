"""The command `slotspec grade`."""

from __future__ import annotations

import contextlib
import secrets
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, get_args

import click

from conformance.grading import render_text
from conformance.grading.executors import ExecutorError
from conformance.grading.grade_many import Grading, Plan
from conformance.grading.grade_one import INFER
from conformance.grading.grade_targets import checked_executor, checked_outputs, checked_sandbox, expanded, processors
from conformance.grading.pool import Lost, OtherKit
from conformance.grading.referee_legs import EFFORTS
from conformance.grading.render_files import Spool, Write, write_json, write_whole
from conformance.grading.results import ResultsError
from conformance.grading.schema import Verdict, VerdictClass
from conformance.targets import parse_dialect

FILE = click.Path(path_type=Path)
CONFORMS, DOES_NOT, OUR_ERROR = 0, 1, 2
MOST_LINES = 200


@click.command(name="grade")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--json", "json_file", type=FILE, help="Write the verdict; for many, all (one a line in a .jsonl file).")
@click.option("--junit", "junit_file", type=FILE, help="Write JUnit XML.")
@click.option("--gradescope", "gradescope_file", type=FILE, help="Write Gradescope's results.json; one TARGET only.")
@click.option("--html", "html_file", type=FILE, help="Write one self-contained page.")
@click.option("--results", type=FILE, metavar="FOLDER", help="Keep each verdict there as it comes, and use it again.")
@click.option("--jobs", type=click.IntRange(1, 256), default=None, help="Graded at a time.  [default: processors]")
@click.option("--executor", metavar="dask:ADDRESS", help="Let an existing Dask cluster grade.")
@click.option("--effort", type=click.Choice(EFFORTS), default="default", show_default=True, help="How much is tried.")
@click.option(
    "--dialect", default=INFER, show_default=True, metavar="AXIS=VALUE,...", help="Hold it to this, or infer it."
)
@click.option("--seed", type=click.IntRange(0, 2**63), default=None, help="Try the same again.  [default: drawn]")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 where candidates do not conform, too.")
@click.option("--require-sandbox", "require", multiple=True, metavar="LAYER", help="Refuse to grade without it.")
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    type=click.Choice(["core", "cached", "engine", "fair"]),
    help="Grade this question only; may be repeated.  [default: all that are offered]",
)
@click.option("--packages", is_flag=True, help="Let candidates import the installed packages.")
def grade(
    *,
    targets: tuple[str, ...],
    jobs: int | None,
    effort: Any,
    dialect: str,
    seed: int | None,
    exit_zero: bool,
    require: tuple[str, ...],
    packages: bool,
    profiles: tuple[str, ...],
    results: Path | None,
    executor: str | None,
    **files: Path | None,
) -> None:
    """Grade candidates: files, folders of files, modules, or 'exec:COMMAND ...'.

    Each runs in a sandboxed process of its own. Exit status: 0 all conform, 1 some do not, 2 usage or
    referee error, 130 interrupted.
    """
    names = expanded(targets)
    outputs = checked_outputs({kind.removesuffix("_file"): path for kind, path in files.items() if path}, names)
    checked_sandbox(require)
    if dialect != INFER:
        try:
            parse_dialect(dialect)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--dialect") from None
    checked_executor(executor, names)
    drawn = secrets.randbits(32) if seed is None else seed
    count = jobs or processors()
    plan = Plan(names, effort, dialect, seed, drawn, require, packages, profiles, count, executor, results)
    grading = Grading(plan)
    with contextlib.ExitStack() as stack:
        stack.enter_context(interruptible(grading))
        try:
            stack.enter_context(grading.opened())
            if grading.results:
                click.echo(reuse(grading), err=True)
            grading.grade()
        except (ResultsError, ExecutorError, OtherKit, Lost) as error:
            raise click.UsageError(f"{error}{kept(grading)}.") from None
        except OSError as error:
            raise click.UsageError(f"Cannot write {error.filename}: {error.strerror}{kept(grading)}.") from None
        tell(grading.spool, grading.counts, single=len(names) == 1)
        write_reports(grading.spool, outputs, single=len(names) == 1)
    sys.exit(exit_status(grading.counts, exit_zero=exit_zero))


def write_reports(spool: Spool, outputs: dict[str, Path], *, single: bool) -> None:
    try:
        write_whole({path: writer(kind, spool, path, single=single) for kind, path in outputs.items()})
    except OSError as error:
        raise click.UsageError(f"Cannot write {error.filename}: {error.strerror}.") from None
    for path in outputs.values():
        click.echo(f"Wrote {path}", err=True)


def reuse(grading: Grading) -> str:
    """Say what is used again, and why not more."""
    results, total = grading.results, len(grading.prints)
    assert results is not None
    left, kept_ = len(results.missing), total - len(results.missing)
    text = f"{kept_} of {total} reused, {left} to grade"
    if again := left - len(grading.groups()):
        text += f", {again} of them the same as another"
    if results.changed:
        text += f"; the verdicts there were made with another {' and another '.join(results.changed)}"
    if results.unfinished or results.unreadable:
        count = results.unreadable + results.unfinished
        text += f"; dropped {count} line{'s' * (count != 1)} that {'were' if count != 1 else 'was'} not whole"
    if unknown := grading.prints.count(None):
        text += f"; {unknown} cannot be told from what {'they were' if unknown != 1 else 'it was'} before"
    return text


def kept(grading: Grading) -> str:
    results = grading.results
    if results is None or not results.added:
        return ""
    return f"; {grading.counts.total()} of {len(grading.prints)} verdicts are kept in {results.folder}"


@contextlib.contextmanager
def interruptible(grading: Grading | None = None) -> Iterator[None]:
    """Turn an interruption, by the keyboard or by SIGTERM, into exit status 130 after everything is cleared away."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"Interrupted; {left_behind(grading)}.", err=True)
        sys.exit(130)
    finally:
        signal.signal(signal.SIGTERM, previous)


def left_behind(grading: Grading | None) -> str:
    """What an interrupted run leaves, and how to go on."""
    if grading is None or len(grading.prints) == 1:
        return "nothing was written"
    if grading.results is None:
        return "nothing was written; with --results FOLDER it could go on from here"
    total = len(grading.prints)
    return f"{grading.counts.total()} of {total} verdicts are kept in {grading.results.folder}; the same again goes on"


def tell(spool: Spool, counts: Counter[VerdictClass], *, single: bool) -> None:
    """Print one candidate's screen; of many, a line each and the sum."""
    for number, verdict in enumerate(spool):
        if single:
            show(verdict)
        elif number < MOST_LINES:
            click.echo(render_text.line(verdict))
        else:
            click.echo(f"... {counts.total() - number} more; --json has them all")
            break
    if not single:
        kinds = [f"{counts[kind]} {kind}" for kind in get_args(VerdictClass) if counts[kind]]
        click.echo(f"{counts.total()} candidates: {', '.join(kinds)}")


def show(verdict: Verdict) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    text = Text(render_text.screen(verdict))
    text.highlight_regex(r"(?m)^(CONFORMING|  +rubric +\+|            \+).*$", "green")
    text.highlight_regex(r"(?m)^[A-Z]+[A-Z-]*(?=[,:])|<- .*$|(?<= )- .*: [a-z]+/.*$", "bold red")
    text.highlight_regex(r"(?m)^\S+/\S+ violated.*$", "bold")
    text.highlight_regex(r"(?m)^  [a-zA-Z]+ ", "dim")
    console.print(text)


def writer(kind: str, spool: Spool, path: Path, *, single: bool) -> Write:
    """How to write a report of this kind; what it needs is imported then."""

    def write(file: IO[str]) -> None:
        if kind == "json":
            write_json(spool, file, single=single, lines=path.suffix == ".jsonl")
        elif kind == "junit":
            from conformance.grading import junit

            file.write(junit.render(spool))
        elif kind == "gradescope":
            from conformance.grading import gradescope

            file.write(gradescope.render(next(iter(spool))))
        else:
            from conformance.grading import html

            html.write(spool, file)

    return write


def exit_status(counts: Counter[VerdictClass], *, exit_zero: bool) -> int:
    if counts["referee-error"]:
        return OUR_ERROR
    return CONFORMS if exit_zero or counts["conforming"] == counts.total() else DOES_NOT
