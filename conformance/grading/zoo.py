"""The attack zoo, tried on this installation: what each attack came to, and whether it was contained.

Contained means that it did not pass as conforming, cost no more than its time, and left everything
outside as it was: a file, the suite, another process, the referee's signals, and no process behind.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from conformance.catalogue import MUST, judge
from conformance.expected import matches
from conformance.grading import attacks
from conformance.grading.isolated import IsolatedImplementation, LoadFailed
from conformance.grading.sandbox import LAYERS, SandboxError, layers
from conformance.grading.zoo_outside import Outside
from conformance.history import Run
from conformance.targets import TargetError
from conformance.workloads import Session, Workload
from reference.vocabulary import Dialect

SECONDS, STARTUP_SECONDS, SLACK_SECONDS = 1.0, 3.0, 3.0
MECHANISMS = {
    "separate-process": "the answer, the model and the judgement are in another process",
    "exact-types": "the client takes results apart by exact type, and calls no method of them",
    "wire": "only what was asked for, in its turn, is taken from the wire",
    "strict-decoding": "a line that is not exactly a message ends the run",
    "exit-is-no-pass": "a pass is what was seen to be right; that a process ended says nothing",
    "call-limit": "a run gets so many calls as a right one could make",
    "time-limit": "a run gets so many seconds, and its process is then killed",
    "sessions": "runs share a process, and each of them has to be right",
}


@dataclass(frozen=True)
class Attack:
    """One file of the zoo: the `trick` in a sentence, and the layer or mechanism that should stop it.

    `twice`: it leaves something in one sandbox for the next one to find.
    """

    name: str
    path: Path
    trick: str
    stopped_by: str
    twice: bool = False


@dataclass(frozen=True)
class Result:
    """What came of one attack. `problems` are the ways in which it was not contained; none if it was.

    `missing` names the layer that should stop it, when that one is not in force on this machine.
    """

    attack: Attack
    happened: str
    seconds: float
    problems: tuple[str, ...] = ()
    missing: str = ""

    @property
    def contained(self) -> bool:
        return not self.problems


@dataclass
class _Trial:
    """Runs of one attack, so far."""

    right: int = 0
    runs: int = 0
    ends: list[str] = field(default_factory=list)
    passed: bool = False

    def happened(self) -> str:
        if self.passed:
            return "passed as conforming"
        return "; ".join(dict.fromkeys(self.ends)) or f"nonconforming: {self.right} of {self.runs} runs right"


def discover() -> list[Attack]:
    """List the zoo, without importing any of it."""
    found = []
    for path in sorted(Path(next(iter(attacks.__path__))).glob("[a-z]*.py")):
        tree = ast.parse(path.read_text())
        said = {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("STOPPED_BY", "TWICE"):
                said[ast.unparse(node.targets[0])] = ast.literal_eval(node.value)
        trick = (ast.get_docstring(tree) or "").split("\n")[0]
        found.append(Attack(path.stem, path, trick, said.get("STOPPED_BY", ""), said.get("TWICE", False)))
    return found


def smoke() -> Session:
    """A few dozen small workloads, enough to tell a right implementation from one that is not."""
    rows = [("a", [1], 3, [11, 12, 13]), ("b", [2, 0], 2, [21, 0]), ("c", [], 4, [31, 32, 33, 34])]
    rows += [("d", [3], 0, []), ("e", [4, 4], 1, [41])]
    return Session(tuple(Workload.of(rows[: 1 + n % 5], 1 + n % 3, 0) for n in range(30)))


def run_zoo(
    names: Iterable[str] = (), *, seconds: float = SECONDS, told: Callable[[Result], None] | None = None
) -> list[Result]:
    """Try the attacks of these names, or all, one after the other. `told` hears of each result at once.

    Raises SandboxError when no candidate can be run at all, and ValueError for a name that is not there.
    """
    zoo = discover()
    wanted = set(names)
    unknown = wanted - {attack.name for attack in zoo}
    if unknown:
        raise ValueError(f"there is no attack {min(unknown)!r}")
    results = []
    with Outside() as outside:
        for attack in zoo:
            if wanted and attack.name not in wanted:
                continue
            result = _tried(attack, seconds, outside)
            results.append(result)
            if told is not None:
                told(result)
    return results


def _tried(attack: Attack, seconds: float, outside: Outside) -> Result:
    start = perf_counter()
    trial = _Trial()
    problems = []
    try:
        for _ in range(1 + attack.twice):
            _try(attack, seconds, trial)
    except SandboxError:
        raise
    except Exception as error:
        problems.append(f"the referee failed with {type(error).__name__}: {error}")
    took = perf_counter() - start
    if trial.passed:
        problems.append("it passed as conforming")
    if took > STARTUP_SECONDS + 2 * seconds + SLACK_SECONDS:
        problems.append(f"it cost {took:.1f} seconds")
    problems += outside.changes()
    missing = attack.stopped_by if attack.stopped_by in LAYERS and attack.stopped_by not in layers() else ""
    return Result(attack, trial.happened(), took, tuple(problems), missing)


def _try(attack: Attack, seconds: float, trial: _Trial) -> None:
    session = smoke()
    try:
        with IsolatedImplementation(str(attack.path), seconds=seconds, startup=STARTUP_SECONDS) as candidate:
            runs = candidate.run(session)
            end, dialect = candidate.last_end, candidate.dialect
    except LoadFailed as error:
        trial.ends.append(f"invalid: {str(error).removeprefix(f'{attack.path}: ')}")
        return
    except TargetError as error:
        trial.ends.append(f"invalid: {error}")
        return
    right = sum(_right(run, dialect) for run in runs)
    trial.right += right
    trial.runs += len(session.workloads)
    trial.passed = trial.passed or (end is None and right == len(session.workloads))
    if end is not None:
        trial.ends.append(f"{end.kind}: {end.why}")


def _right(run: Run, dialect: Dialect) -> bool:
    return matches(run, dialect) or not judge(run, dialect, MUST).violations


def table(results: Iterable[Result]) -> str:
    """Print the results as plain lines: whether contained, the attack, what should stop it, what happened."""
    rows = [
        (
            "contained" if result.contained else "ESCAPED",
            result.attack.name,
            result.attack.stopped_by + (" (missing)" if result.missing else ""),
            f"{result.seconds:.1f} s",
            result.happened + "".join(f" [{problem}]" for problem in result.problems),
        )
        for result in results
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    return "\n".join("  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[4]]) for row in rows)
