"""The command `slotspec grade-tests`."""

from __future__ import annotations

import contextlib
import keyword
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import click
import msgspec

from conformance.grading.grade_command import CONFORMS, DOES_NOT, FILE, interruptible
from conformance.grading.grade_targets import checked_sandbox
from conformance.grading.own_tests.examine import OwnFault
from conformance.grading.own_tests.grade_tests import SECONDS, Told, grade_tests
from conformance.grading.own_tests.lineup import lineup
from conformance.grading.own_tests.screen import screen
from conformance.grading.own_tests.verdict import GradedTests
from conformance.grading.render_files import unusable, write_whole
from conformance.grading.sandbox import SandboxError

LARGEST = 2**20  # bytes of a file of tests


@click.command(name="grade-tests")
@click.argument("tests", type=FILE, metavar="TESTS")
@click.option("--module", default="solution", show_default=True, help="The module that the tests import.")
@click.option("--json", "json_file", type=FILE, help="Write the verdict.")
@click.option("--jobs", type=click.IntRange(1, 256), default=None, help="Faced at a time.  [default: processors]")
@click.option(
    "--seconds",
    type=click.FloatRange(0.1, 3600),
    default=SECONDS,
    show_default=True,
    help="For the tests to face one implementation.",
)
@click.option("--min-score", type=click.FloatRange(0, 1), default=0.0, help="Exit with 1 below it.")
@click.option("--seed", type=click.IntRange(0, 2**63), default=None, help="The same order again.  [default: drawn]")
@click.option("--require-sandbox", "require", multiple=True, metavar="LAYER", help="Refuse to grade without it.")
def grade_tests_command(
    *,
    tests: Path,
    module: str,
    json_file: Path | None,
    jobs: int | None,
    seconds: float,
    min_score: float,
    seed: int | None,
    require: tuple[str, ...],
) -> None:
    """Grade a pytest file written against `generate`, by what it rejects.

    The tests import `generate` from a module that slotspec provides, and face the reference, the honest
    variants and the flawed ones, one by one. They must accept all that are right; the score is the
    share of flawed ones that they reject. Exit status: 0 accepts all right ones, 1 does not or is
    below --min-score, 2 usage or referee error, 130 interrupted.
    """
    checked(tests, module, json_file)
    checked_sandbox(require)
    workers = jobs or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    with interruptible(), progress() as told:
        try:
            verdict = grade_tests(
                tests, module=module, seed=seed, seconds=seconds, jobs=workers, choose=lineup, told=told
            )
        except (OwnFault, SandboxError) as error:
            raise click.UsageError(str(error)) from None
        click.echo(screen(verdict))
        write(verdict, json_file)
    sys.exit(CONFORMS if verdict.verdict == "accepts" and verdict.score >= min_score else DOES_NOT)


def checked(tests: Path, module: str, json_file: Path | None) -> None:
    """Complain before anything is run."""
    if not tests.exists():
        raise click.UsageError(f"{tests}: there is no such file.")
    if tests.is_dir() or tests.suffix != ".py":
        raise click.UsageError(f"{tests}: one Python file of tests is wanted.")
    if not os.access(tests, os.R_OK):
        raise click.UsageError(f"{tests}: the file cannot be read.")
    if tests.stat().st_size > LARGEST:
        raise click.UsageError(f"{tests}: the file is larger than {LARGEST // 2**20} MiB.")
    parts = module.split(".")
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
        raise click.UsageError(f"--module {module}: not the name of a module.")
    if parts[0] in sys.stdlib_module_names or parts[0] in (
        "pytest",
        "_pytest",
        "hypothesis",
        "conformance",
        "reference",
    ):
        raise click.UsageError(f"--module {module}: there is another module {parts[0]!r} that the tests may need.")
    if json_file is not None and (problem := unusable(json_file)):
        raise click.UsageError(f"--json {json_file}: {problem}.")


def write(verdict: GradedTests, path: Path | None) -> None:
    if path is None:
        return

    def whole(file: IO[str]) -> None:
        file.write(msgspec.json.encode(verdict).decode() + "\n")

    try:
        write_whole({path: whole})
    except OSError as error:
        raise click.UsageError(f"Cannot write {error.filename}: {error.strerror}.") from None
    click.echo(f"Wrote {path}", err=True)


@contextlib.contextmanager
def progress() -> Iterator[Told]:
    """A bar, where somebody watches."""
    if not sys.stderr.isatty():
        yield lambda done, total, one: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(
        BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        shown = bar.add_task("", total=None)
        yield lambda done, total, one: bar.update(shown, completed=done, total=total)
