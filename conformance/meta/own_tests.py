"""Grade small files of tests against a few implementations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from click.testing import CliRunner, Result

from conformance import cli
from conformance.grading.own_tests.grade_tests import grade_tests
from conformance.grading.own_tests.lineup import Member, lineup
from conformance.grading.own_tests.verdict import GradedTests
from reference.vocabulary import Dialect

FEW = ("reference.generate", "variants.lanes", "variants.flawed.lifo_queue")
SMALL = (*FEW, "variants.compacting", "variants.flawed.prompt_grows", "variants.flawed.num_slots_ignored")
PASSES = "def test_nothing():\n    pass\n"
FIFO = """
from solution import Request, generate
class Model:
    def next_tokens(self, batch):
        return [row[0] for row in batch]
def first(count):
    seen = []
    class Sees(Model):
        def next_tokens(self, batch):
            seen.append(batch[0][0])
            return super().next_tokens(batch)
    generate(Sees(), [Request(str(i), [i], 1) for i in range(count)], 1, -1)
    return seen
def test_fifo():
    {}
"""


def chosen(names: tuple[str, ...]) -> Callable[[Dialect, Path], list[Member]]:
    """A line-up of these, as far as they are of the dialect."""
    return lambda dialect, folder: [one for one in lineup(dialect, folder) if one.name in names]


def graded_in(folder: Path) -> Callable[..., GradedTests]:
    """How to grade a source text."""

    def grade(source: str, names: tuple[str, ...] = FEW, seconds: float = 20.0) -> GradedTests:
        path = folder / "tests.py"
        path.write_text(source)
        return grade_tests(path, seed=1, seconds=seconds, choose=chosen(names))

    return grade


def outcomes(verdict: GradedTests) -> dict[str, str]:
    return {one.name.rpartition(".")[2]: one.outcome for one in verdict.implementations}


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli.main, ["grade-tests", *map(str, arguments)], env={"COLUMNS": "80", "NO_COLOR": "1"})
