"""In the parent process: start the child, collect what it says, replay what it claims."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from itertools import count
from pathlib import Path
from typing import Any

from conformance.catalogue import MUST, judge
from conformance.contracts.child import CONFIRMED, ENDLESS, UNDECIDED, UNSTOPPABLE
from conformance.contracts.shapes import QUICK, ContractResult, Shape
from conformance.invariant import Violation
from conformance.targets import load
from conformance.workloads import Session, Workload
from reference.vocabulary import Dialect

START_SECONDS = 15.0  # of the child process, on a busy machine
HOUSE = str(Path(__file__).resolve().parents[2])
MUST_NAMES = frozenset(invariant.name for invariant in MUST)


def check_contracts(
    target: str, dialect: Dialect, shapes: Sequence[Shape] = QUICK, jobs: int = 2
) -> list[ContractResult]:
    """Decide the contracts of an implementation, in `jobs` processes, and replay what CrossHair claims."""
    if target.startswith("exec:"):
        note = "another process's program cannot be executed symbolically"
        return [ContractResult(shape.name, "not confirmed", 0.0, note=note) for shape in shapes]
    shares = [share for share in _shares(shapes, jobs) if share]
    with ThreadPoolExecutor(jobs) as pool:
        answers = {
            name: answer for part in pool.map(lambda s: _ask(target, dialect, s), shares) for name, answer in part
        }
    return [_result(target, dialect, shape, answers[shape.name]) for shape in shapes]


def _shares(shapes: Sequence[Shape], jobs: int) -> list[list[Shape]]:
    """Spread the shapes so that the processes end at about the same time."""
    shares: list[list[Shape]] = [[] for _ in range(jobs)]
    for shape in sorted(shapes, key=_cost, reverse=True):
        min(shares, key=lambda share: sum(map(_cost, share))).append(shape)
    return [sorted(share, key=_cost) for share in shares]


def _cost(shape: Shape) -> int:
    cost = 1
    for length in shape.lengths:
        cost *= length + 1
    return cost * sum(shape.lengths)


def _ask(target: str, dialect: Dialect, shapes: list[Shape]) -> list[tuple[str, dict[str, Any]]]:
    """Run the child; every shape gets an answer, if only that there is none."""
    # -P, and our folder last: nothing in the folder of the caller shadows a module of ours.
    code = f"import sys; sys.path.append({HOUSE!r}); from conformance.contracts.child import child; child(sys.argv[1])"
    request = {"target": target, "dialect": str(dialect), "shapes": [astuple(shape) for shape in shapes]}
    command = [sys.executable, "-P", "-c", code, json.dumps(request)]
    limit = START_SECONDS + sum(shape.seconds for shape in shapes) / 2  # few shapes need all their time
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        lines, problem = done.stdout, _problem(done.returncode, done.stderr)
    except subprocess.TimeoutExpired as expired:
        lines = expired.stdout.decode() if isinstance(expired.stdout, bytes) else expired.stdout or ""
        problem = {"obstacles": [f"no answer within {limit:g} seconds"]}
    answers = {answer["shape"]: answer for answer in map(json.loads, lines.splitlines())}
    return [(shape.name, answers.get(shape.name, problem)) for shape in shapes]


def _problem(status: int, errors: str) -> dict[str, Any]:
    """What to answer for the contracts that the child left open."""
    if status == 0:
        return {"obstacles": ["not tried, since a smaller shape could not be decided"]}
    if status == UNSTOPPABLE:
        return {"obstacles": [f"{ENDLESS}, and could not be stopped"]}
    lines = [line for line in errors.splitlines() if line.strip()]
    return {"failed": lines[-1] if lines else f"the child process ended with status {status}"}


def _result(target: str, dialect: Dialect, shape: Shape, answer: dict[str, Any]) -> ContractResult:
    figures = (answer.get("seconds", 0.0), answer.get("paths", 0))
    if "failed" in answer:
        return ContractResult(shape.name, "error", *figures, note=answer["failed"])
    said = answer.get("said", [])
    if said == [CONFIRMED] and not answer["obstacles"]:
        return ContractResult(shape.name, "confirmed", *figures)
    note = "; ".join(dict.fromkeys(answer["obstacles"])) or _reason(shape, said)
    if answer.get("values") is None:
        return ContractResult(shape.name, "not confirmed", *figures, note=note)
    workload, violations = _replayed(target, dialect, shape, answer["values"])
    if violations:
        return ContractResult(shape.name, "refuted", *figures, workload, violations)
    return ContractResult(shape.name, "not confirmed", *figures, workload, note=note)


def _reason(shape: Shape, said: list[str]) -> str:
    """Why a contract is not confirmed, from CrossHair's words: no claim, or one that the replay did not bear out."""
    text = " ".join(said)
    if text == UNDECIDED:
        return f"CrossHair did not decide every path in {shape.seconds:g} s"
    if "NotDeterministic" in text:
        return (
            "it does not do the same again for the same input: it keeps state between runs, or leaves things to chance"
        )
    error = text.partition(" when calling ")[0].partition(" yields ")[2] or text
    what = "" if error in ("", "false") else f" ({error})"
    return f"CrossHair's counterexample{what} violates nothing when it is run; `is`, for one, differs between symbols"


def _replayed(target: str, dialect: Dialect, shape: Shape, values: list[int]) -> tuple[Workload, dict[str, Violation]]:
    """Replay the values; then let tokens differ where they need not be equal, so that the run shows what matters."""
    workload = shape.workload(values, dialect)
    began = time.perf_counter()
    violations = replay(target, dialect, workload)
    if not violations or time.perf_counter() - began > 1:  # a run that does not end takes seconds
        return workload, violations
    for index in range(len(values)):
        fresh = next(number for number in count(101) if number not in values)
        changed = [*values[:index], fresh, *values[index + 1 :]]
        found = replay(target, dialect, shape.workload(changed, dialect))
        if found:
            values, workload, violations = changed, shape.workload(changed, dialect), found
    return workload, violations


def replay(target: str, dialect: Dialect, workload: Workload) -> dict[str, Violation]:
    """Run the workload concretely; return what it violates of the invariants at level MUST."""
    (run,) = load(target, dialect).fresh().run(Session((workload,)))
    return {name: found for name, found in judge(run, dialect).violations.items() if name in MUST_NAMES}
