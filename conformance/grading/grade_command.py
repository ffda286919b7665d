"""The command `slotspec grade`."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, get_args

import click

from conformance.grading import render_text
from conformance.grading.grade_one import INFER
from conformance.grading.pool import Task, grade_all
from conformance.grading.referee_legs import EFFORTS
from conformance.grading.render_files import Spool, Write, unusable, write_json, write_whole
from conformance.grading.sandbox import INSTALL, LAYERS, layers
from conformance.grading.schema import Verdict, VerdictClass
from conformance.targets import TargetError, parse_dialect

FILE = click.Path(path_type=Path)
CONFORMS, DOES_NOT, OUR_ERROR = 0, 1, 2
MOST_LINES = 200


@click.command(name="grade")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--json", "json_file", type=FILE, help="Write the verdict; for many, all (one a line in a .jsonl file).")
@click.option("--junit", "junit_file", type=FILE, help="Write JUnit XML.")
@click.option("--gradescope", "gradescope_file", type=FILE, help="Write Gradescope's results.json; one TARGET only.")
@click.option("--html", "html_file", type=FILE, help="Write one self-contained page.")
@click.option("--jobs", type=click.IntRange(1, 256), default=None, help="Graded at a time.  [default: processors]")
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
    drawn = secrets.randbits(32) if seed is None else seed
    tasks = [
        Task(i, name, effort, drawn, dialect, list(require), packages, list(profiles)) for i, name in enumerate(names)
    ]
    single = len(tasks) == 1
    with interruptible(), Spool(len(tasks)) as spool:
        counts = graded_into(spool, tasks, jobs or len(os.sched_getaffinity(0)) if _can_count() else jobs or 1)
        tell(spool, counts, single=single)
        try:
            write_whole({path: writer(kind, spool, path, single=single) for kind, path in outputs.items()})
        except OSError as error:
            raise click.UsageError(f"Cannot write {error.filename}: {error.strerror}.") from None
        for path in outputs.values():
            click.echo(f"Wrote {path}", err=True)
    sys.exit(exit_status(counts, exit_zero=exit_zero))


def _can_count() -> bool:
    return hasattr(os, "sched_getaffinity")


def expanded(targets: Sequence[str]) -> list[str]:
    """Turn folders into their Python files; say at once what is not there."""
    names: list[str] = []
    for target in targets:
        if not os.path.isdir(target):
            names.append(checked_target(target))
            continue
        found = sorted(path for path in Path(target).rglob("*.py") if not _hidden(path.relative_to(target)))
        if not found:
            raise click.UsageError(f"{target}: there is no Python file in this folder.")
        names += map(str, found)
    return list(dict.fromkeys(names))


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "__")) for part in path.parts)


def checked_target(target: str) -> str:
    """Return a target that is there. Raises click.UsageError."""
    from conformance.grading.isolated_targets import sandbox_for, split

    place, _ = split(target)
    if place.endswith(".py") and os.path.isfile(place) and not os.access(place, os.R_OK):
        raise click.UsageError(f"{place}: the file cannot be read.")
    try:
        sandbox_for(target)
    except TargetError as error:
        raise click.UsageError(str(error)) from None
    return target


def checked_outputs(outputs: dict[str, Path], names: Sequence[str]) -> dict[str, Path]:
    """Complain before anything is graded."""
    if "gradescope" in outputs and len(names) > 1:
        raise click.UsageError(f"--gradescope is for one candidate, and there are {len(names)}.")
    if len({path.resolve() for path in outputs.values()}) < len(outputs):
        raise click.UsageError("Two reports have the same file.")
    for kind, path in outputs.items():
        if problem := unusable(path):
            raise click.UsageError(f"--{kind} {path}: {problem}.")
    return outputs


def checked_sandbox(require: Sequence[str]) -> None:
    for layer in require:
        if layer not in LAYERS:
            raise click.BadParameter(f"{layer!r} is none of {', '.join(LAYERS)}.", param_hint="--require-sandbox")
        if layer not in layers():
            raise click.UsageError(f"--require-sandbox {layer}: not to be had here; {INSTALL}.")
    if sys.platform == "win32":
        raise click.UsageError("Candidates cannot be run apart on Windows; use WSL2.")


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn an interruption, by the keyboard or by SIGTERM, into exit status 130 after everything is cleared away."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        click.echo("Interrupted; nothing was written.", err=True)
        sys.exit(130)
    finally:
        signal.signal(signal.SIGTERM, previous)


def graded_into(spool: Spool, tasks: Sequence[Task], jobs: int) -> Counter[VerdictClass]:
    """Grade all, with a progress bar where somebody watches."""
    counts: Counter[VerdictClass] = Counter()
    with progress(len(tasks)) as advance, contextlib.closing(grade_all(tasks, jobs)) as results:  # type: ignore[type-var]
        for task, verdict in results:
            spool.put(task.index, verdict)
            counts[verdict.verdict] += 1
            advance(f"{counts['conforming']} conform, {counts.total() - counts['conforming']} do not")
    return counts


@contextlib.contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    if total == 1 or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task("", total=total)
        yield lambda text: bar.update(shown, advance=1, description=text)


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
