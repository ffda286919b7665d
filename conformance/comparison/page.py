"""Keep `docs/static-vs-continuous.md` true: every figure in it is what the command prints today.

The page marks what is generated. A block runs from a comment with a command to `<!-- end -->`:

    <!-- terminal: slotspec compare ... -->        the command and its output
    <!-- picture: slotspec compare ... --svg F --> the command and the picture F
    <!-- calls of a,b: slotspec compare ... {} --> a table: the command for a, for b, and how many calls
    <!-- cost of a,b: slotspec compare ... {} -->  the same, and what the calls cost

`python -m conformance.comparison.page` writes the page and its pictures anew.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path, PurePosixPath
from typing import Any

from click.testing import CliRunner

from conformance.comparison.command import compare
from conformance.comparison.words import difference

ROOT = Path(__file__).parent.parent.parent
PAGE = Path("docs/static-vs-continuous.md")
BLOCK = re.compile(r"<!-- (\w+)(?: of ([\w,]+))?: (slotspec compare .*?) -->\n.*?<!-- end -->", re.DOTALL)
PROGRAM = "slotspec compare "


def run(command: str) -> str:
    """Run a command line as a shell would, in the current directory, on a terminal of 80 columns."""
    arguments = shlex.split(command.removeprefix(PROGRAM))
    result = CliRunner().invoke(compare, arguments, env={"COLUMNS": "80", "NO_COLOR": "1"}, catch_exceptions=False)
    if result.exit_code:
        raise RuntimeError(f"{command}: {result.output}")
    return "\n".join(line.rstrip() for line in result.stdout.splitlines())


def terminal(command: str) -> str:
    return f"```console\n$ {command}\n{run(command)}\n```\n"


def picture(command: str) -> str:
    """Draw the picture, and quote the first line of the output as its description."""
    arguments = shlex.split(command)
    target = PurePosixPath(arguments[arguments.index("--svg") + 1])
    description = run(command).splitlines()[0]
    return f"```console\n$ {command}\n```\n\n![{description}]({target.relative_to('docs')})\n"


def table(columns: list[str], line: Callable[[str, dict[str, Any]], list[str]], values: str, command: str) -> str:
    """Write the command, and one line of the table for each of `values` in the place of {}."""
    varied = re.findall(r"--(\S+) \{\}", command)[0]
    lines = [[varied, *columns], ["---", *("---:" for _ in columns)]]
    for value in values.split(","):
        lines.append(line(value, json.loads(run(command.replace("{}", value) + " --json"))))
    body = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    return f"```console\n$ {command.replace('{}', '...')}\n```\n\n{body}"


CALLS_COLUMNS = [
    *("spread", "longest", "lower bound", "continuous calls", "static calls", "static / continuous"),
    *("continuous idle", "static idle"),
]


def calls_line(value: str, data: dict[str, Any]) -> list[str]:
    workload, static, continuous = data["workload"], data["static"], data["continuous"]
    return [
        value,
        f"{workload['spread']:.2f}",
        f"{workload['longest']:,}",
        f"{data['bounds']['lower']:,}",
        f"{continuous['calls']:,}",
        f"{static['calls']:,}",
        f"{static['calls'] / continuous['calls']:.2f}",
        idle_share(continuous, workload["slots"]),
        idle_share(static, workload["slots"]),
    ]


def idle_share(side: dict[str, Any], slots: int) -> str:
    return f"{100 * side['idle_slot_steps'] / (slots * side['calls']):.0f} %"


COST_COLUMNS = [
    *("calls", "rows", "pad rows", "prefix tokens", "most prefix tokens in a call"),
    *("new tokens", "most new tokens in a call"),
]


def cost_line(value: str, data: dict[str, Any]) -> list[str]:
    static, continuous = data["static"], data["continuous"]
    pairs = [(static[name], continuous[name]) for name in ("calls", "rows", "pad_rows")]
    for name in ("prefix_tokens", "new_tokens"):
        pairs.append((static[name], continuous[name]))
        pairs.append((max(static["per_call"][name]), max(continuous["per_call"][name])))
    return [value, *(difference(one, other) for one, other in pairs)]


def block(match: re.Match[str]) -> str:
    """Generate one block anew."""
    kind, values, command = match.groups()
    makers: dict[str, Callable[[], str]] = {
        "terminal": lambda: terminal(command),
        "picture": lambda: picture(command),
        "calls": lambda: table(CALLS_COLUMNS, calls_line, values, command),
        "cost": lambda: table(COST_COLUMNS, cost_line, values, command),
    }
    opening = match[0].split("\n", 1)[0]
    return f"{opening}\n{makers[kind]()}<!-- end -->"


def regenerate(text: str, root: Path) -> str:
    """Return the page with every block generated anew. Pictures are written to docs/img under `root`."""
    (root / "docs" / "img").mkdir(parents=True, exist_ok=True)
    with chdir(root):
        return BLOCK.sub(block, text)


def main() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    (ROOT / PAGE).write_text(regenerate(text, ROOT), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
