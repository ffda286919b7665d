"""The command `slotspec check`: the installed test suite on any implementation, from any folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

import conformance


@click.command(
    name="check",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("target")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[PYTEST OPTIONS]")
def check(target: str, options: tuple[str, ...]) -> None:
    """Run the test suite on TARGET: a module, module:function, file.py or 'exec:COMMAND ...'.

    What follows TARGET goes to pytest: -k refill, -x, --pdb, -n 4, --dialect stop_token=excluded,
    --isolated. The exit status is pytest's, and 4 for a target that cannot be used.
    """
    import pytest

    sys.exit(int(pytest.main(arguments(target, options))))


def arguments(target: str, options: tuple[str, ...]) -> list[str]:
    """The command line for pytest. No ini file above the installed suite has a say in it."""
    home = Path(conformance.__file__).resolve().parent
    files = [str(path) for path in sorted(home.glob("test_*.py"))]
    where = ["-c", os.devnull, f"--rootdir={os.getcwd()}"]
    return [*where, *files, f"--impl={target}", *options]
