"""What grading many costs on this machine: python -m conformance.grading.benchmark_many [FOLDER ...]

The candidates are the Python files of the folders, again and again, each time with another comment at the end, so
that no two are alike. Without a folder they are the variants, and some that do not end, or end the process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

import click

import variants
import variants.flawed
from conformance.grading.grade_targets import processors
from conformance.grading.referee_legs import EFFORTS
from conformance.grading.results import LINES, read_results

HOSTILE = (
    "def generate(*given):\n    while True:\n        pass\n",
    "import os\ndef generate(*given):\n    os._exit(0)\n",
    "import time\ndef generate(*given):\n    time.sleep(1)\n",
    "def generate(:\n",
)
LOOK_SECONDS = 0.5
ROWS = 10


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--candidates", type=click.IntRange(1, 10**6), default=500, show_default=True)
@click.option("--effort", type=click.Choice(EFFORTS), default="quick", show_default=True)
@click.option("--jobs", type=click.IntRange(1, 256), default=None, help="[default: processors]")
@click.option("--executor", metavar="dask:ADDRESS")
def main(folders: Sequence[Path], candidates: int, effort: str, jobs: int | None, executor: str | None) -> None:
    """Grade many, and print the seconds, and the memory of the processes that grade."""
    with tempfile.TemporaryDirectory(prefix="slotspec-benchmark-") as place:
        _write(samples(folders), candidates, Path(place, "in"))
        many = ["--executor", executor] if executor else ["--jobs", str(jobs or processors())]
        command = [sys.executable, "-P", "-m", "conformance", "grade", f"{place}/in", "--results", f"{place}/out"]
        start = perf_counter()
        with subprocess.Popen(
            [*command, "--effort", effort, "--seed", "1", "--exit-zero", *many], stdout=subprocess.DEVNULL
        ) as process:
            memory = _watched(process, Path(place, "out"), candidates)
        wall = perf_counter() - start
        verdicts = Counter[str]()
        seconds = []
        for verdict in read_results(Path(place, "out")):
            verdicts[verdict.verdict] += 1
            seconds.append(verdict.seconds)
    click.echo(f"{candidates} candidates, {effort}, {' '.join(many)}: {wall:.0f} s")
    click.echo(f"each: median {median(seconds):.2f} s, most {max(seconds):.2f} s, sum {sum(seconds):.0f} s")
    click.echo(", ".join(f"{count} {kind}" for kind, count in verdicts.most_common()))
    click.echo("graded   command   largest referee (MiB)")
    for done, command_memory, referee_memory in memory:
        click.echo(f"{done:>6} {command_memory / 2**20:>9.1f} {referee_memory / 2**20:>17.1f}")
    sys.exit(process.returncode)


def samples(folders: Sequence[Path]) -> list[str]:
    """The sources that are repeated, in a fixed order."""
    if folders:
        return [path.read_text() for folder in folders for path in sorted(folder.rglob("*.py"))]
    homes = [Path(next(iter(package.__path__))) for package in (variants, variants.flawed)]
    found = [path.read_text() for home in homes for path in sorted(home.glob("[a-z]*.py"))]
    return [*(text for text in found if "\ndef generate(" in text), *HOSTILE]


def _write(sources: list[str], count: int, folder: Path) -> None:
    folder.mkdir()
    for number, source in enumerate(islice(cycle(sources), count)):
        (folder / f"{number:06}.py").write_text(f"{source}\n# {number}\n")


def _watched(process: subprocess.Popen[bytes], results: Path, total: int) -> list[tuple[int, int, int]]:
    """Wait for the end; meanwhile note how many are graded, and the memory, a few times."""
    found: list[tuple[int, int, int]] = []
    while process.poll() is None:
        done = _lines(results)
        if done >= (len(found) + 1) * total / ROWS:
            referees = max(map(_resident, _children(process.pid)), default=0)
            found.append((done, _resident(process.pid), referees))
        sleep(LOOK_SECONDS)
    return found


def _lines(results: Path) -> int:
    try:
        return (results / LINES).read_bytes().count(b"\n")
    except OSError:
        return 0


def _children(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return []


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


if __name__ == "__main__":
    main()
