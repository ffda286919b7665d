"""What grading costs on this machine: python -m conformance.grading.benchmark [CANDIDATES ...]"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from time import perf_counter

import click

import variants
import variants.flawed
from conformance.grading.grade_one import grade
from conformance.grading.referee_legs import Effort

HONEST = ("slot_array.py", "functional.py", "padded.py")
SEED = 1


@click.command()
@click.option(
    "--repeat", type=click.IntRange(1, 20), default=3, show_default=True, help="Times an honest one is graded."
)
@click.option("--wrong", type=click.IntRange(1, 500), default=25, show_default=True, help="How many wrong ones.")
@click.option("--many", type=click.IntRange(0, 10**6), default=0, show_default=True, help="Candidates for the memory.")
def main(repeat: int, wrong: int, many: int) -> None:
    """Print the seconds of honest and wrong candidates, and the memory of the referee over many."""
    home, flawed = (Path(next(iter(package.__path__))) for package in (variants, variants.flawed))
    honest = [home / name for name in HONEST]
    for effort in ("quick", "default"):
        seconds = [_seconds(path, effort) for path in honest * repeat]
        click.echo(f"honest, {effort:<8} median {median(seconds):6.2f} s, most {max(seconds):6.2f} s")
    files = sorted(flawed.glob("[a-z]*.py"))
    chosen = files[:: max(1, len(files) // wrong)][:wrong]
    seconds = [_seconds(path, "default") for path in chosen]
    click.echo(
        f"wrong,  default  median {median(seconds):6.2f} s, most {max(seconds):6.2f} s, {len(chosen)} candidates"
    )
    if many:
        _memory(honest[0], many)


def _seconds(path: Path, effort: Effort) -> float:
    start = perf_counter()
    grade(path, effort=effort, seed=SEED)
    return perf_counter() - start


def _memory(path: Path, many: int) -> None:
    """Print the memory of this process, the referee, every tenth of the way."""
    for number in range(many + 1):
        if number % max(1, many // 10) == 0:
            click.echo(f"after {number:>6} candidates: {_resident() / 2**20:6.1f} MiB")
        if number < many:
            grade(path, effort="quick", seed=number)


def _resident() -> int:
    if sys.platform != "linux":
        return 0
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


if __name__ == "__main__":
    main()
