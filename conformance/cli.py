"""The command `slotspec`: one line a command, each loaded when it is asked for."""

from __future__ import annotations

import difflib
import importlib

import click

# The name of a command, where it is, and what `slotspec --help` says of it.
COMMANDS: dict[str, tuple[str, str]] = {
    "check": ("conformance.grading.grade_check:check", "Run the test suite on an implementation, with pytest."),
    "compare": ("conformance.comparison.command:compare", "Compare static with continuous batching on one workload."),
    "grade": ("conformance.grading.grade_command:grade", "Grade candidates, each in a sandbox."),
    "grade-tests": (
        "conformance.grading.own_tests.command:grade_tests_command",
        "Grade a file of tests by the flawed implementations it rejects.",
    ),
    "report": ("conformance.grading.reading.commands:report", "Read many verdicts together: a page and tables."),
    "diff": ("conformance.grading.reading.commands:diff", "Say what changed between two gradings."),
    "check-trace": ("conformance.tracing.command:check_trace", "Judge a history that any engine has recorded."),
    "engines": ("conformance.engines.command:engines", "Try real engines through their adapters."),
    "prove": ("conformance.proving.command:prove", "Run the proofs, one line a theorem."),
    "recheck": ("conformance.grading.recheck:recheck", "Replay a verdict without trusting it."),
    "repro": ("conformance.grading.repro:repro", "Show a counterexample step by step."),
    "verify-grader": ("conformance.grading.grade_verify:verify_grader", "Try the attack zoo on this installation."),
}


class Commands(click.Group):
    """A group whose commands are imported when they are used, so that help is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" The commands are {', '.join(COMMANDS)}."
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, said) for name, (_, said) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="slotspec", prog_name="slotspec")
def main() -> None:
    """Specification and conformance kit for dynamic (continuous) batching with slot refilling."""


if __name__ == "__main__":
    main()
