"""The command `slotspec verify-grader`."""

from __future__ import annotations

import sys

import click


@click.command(name="verify-grader")
@click.argument("attacks", nargs=-1, metavar="[ATTACK...]")
def verify_grader(attacks: tuple[str, ...]) -> None:
    """Run the attack zoo, or the attacks named, against this installation, and print what came of each.

    Exit status: 0 all contained, 1 some are not, 2 when nothing could be tried.
    """
    from conformance.grading.grade_command import interruptible
    from conformance.grading.sandbox import SandboxError
    from conformance.grading.zoo import run_zoo, table

    with interruptible():
        try:
            results = run_zoo(attacks)
        except (SandboxError, ValueError) as error:
            raise click.UsageError(str(error)) from None
    click.echo(table(results))
    escaped = [result for result in results if not result.contained]
    click.echo(f"{len(results)} attacks, {len(results) - len(escaped)} contained")
    sys.exit(1 if escaped else 0)
