"""What `slotspec grade` is given: targets, report files and sandbox layers, complained of before anything is graded."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from conformance.grading.executors import ExecutorError, address_of
from conformance.grading.isolated_targets import is_file
from conformance.grading.render_files import unusable
from conformance.grading.sandbox import INSTALL, LAYERS, layers
from conformance.targets import TargetError


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
    for name in names:
        if not _writable(name):
            raise click.UsageError(f"{name!a}: this name is not UTF-8, so no report can hold it; rename the file.")
    return list(dict.fromkeys(names))


def _writable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


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


def checked_executor(name: str | None, names: Sequence[str]) -> None:
    """Complain of an executor that is none, and of candidates that cannot be sent to it."""
    if name is None:
        return
    try:
        address_of(name)
    except ExecutorError as error:
        raise click.BadParameter(str(error), param_hint="--executor") from None
    for target in names:
        if not is_file(target):
            raise click.UsageError(f"--executor {name}: {target} cannot be sent there; only Python files can.")
