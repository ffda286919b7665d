"""CrossHair contracts: an implementation, executed symbolically within a bound.

The bound is a *shape*: how many requests, how many tokens each, how many slots. Within it the tokens
are symbols, so one run stands for every value of them: prompts, replies and stop token are any
integers at all. What should be asked and returned is computed here, from the script alone.

CrossHair runs in a child process, since it patches the interpreter that it runs in. What it finds is
a claim: it counts as refuted only when the concrete workload, run as usual, violates an invariant.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, field, replace
from inspect import Parameter, Signature
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple

from conformance.catalogue import MUST, judge
from conformance.invariant import Violation
from conformance.run import IGNORED_ALARMS, Generate
from conformance.targets import REFERENCE, TargetError, load, parse_dialect
from conformance.workloads import Ask, Session, Workload
from reference.vocabulary import Dialect, Request

Verdict = Literal["confirmed", "refuted", "not confirmed", "error"]
CONFIRMED = "Confirmed over all paths."  # CrossHair's words; nothing else is a confirmation
PATH_SECONDS = 5.0  # of one symbolic run; right ones take a few hundredths
START_SECONDS = 20.0  # of the child process, on a busy machine
ENDLESS = f"a symbolic run had not ended after {PATH_SECONDS:g} seconds"
UNSTOPPABLE = 75  # the child's exit status when a symbolic run ignores every alarm
HOUSE = str(Path(__file__).resolve().parents[1])
BEGIN, END = "<!-- contracts: begin -->", "<!-- contracts: end -->"
MUST_NAMES = frozenset(invariant.name for invariant in MUST)


@dataclass(frozen=True)
class Shape:
    """What is fixed in a contract: `lengths` are the limits, in generated tokens; `prompt` is the prompts' length.

    `seconds` is the processor time that CrossHair gets.
    """

    name: str
    lengths: tuple[int, ...]
    num_slots: int
    prompt: int = 1
    slow: bool = False
    seconds: float = 8.0

    @property
    def count(self) -> int:
        """The number of symbols: the stop token, the reply to a pad row, every prompt token and every reply."""
        return 2 + sum(self.prompt + length for length in self.lengths)

    def tokens(self, values: Sequence[int]) -> Tokens:
        stop, pad, *rest = values
        prompts, scripts = [], []
        for length in self.lengths:
            prompts.append(rest[: self.prompt])
            scripts.append(rest[self.prompt : self.prompt + length])
            rest = rest[self.prompt + length :]
        return Tokens(stop, pad, prompts, scripts)

    def max_tokens(self, request: int, dialect: Dialect) -> int:
        return self.lengths[request] + (self.prompt if dialect.max_tokens == "total" else 0)

    def workload(self, values: Sequence[int], dialect: Dialect) -> Workload:
        """The concrete run that the values stand for."""
        stop, pad, prompts, scripts = self.tokens(values)
        asks = tuple(
            Ask(f"r{r}", tuple(prompt), self.max_tokens(r, dialect), tuple(script))
            for r, (prompt, script) in enumerate(zip(prompts, scripts, strict=True))
        )
        plain = Workload(asks, self.num_slots, stop)
        return replace(plain, otherwise=pad) if dialect.batch == "padded" else plain


class Tokens(NamedTuple):
    """The symbols of one run, or their values."""

    stop: int
    pad: int
    prompts: list[list[int]]
    scripts: list[list[int]]


SHAPES = (
    Shape("needle: 1 request with a prompt of 3, x 2 tokens x 1 slot", (2,), 1, prompt=3),
    Shape("1 request x 3 tokens x 1 slot", (3,), 1),
    Shape("1 request x 2 tokens x 2 slots", (2,), 2),
    Shape("2 requests x 2 tokens x 1 slot", (2, 2), 1),
    Shape("2 requests x 2 tokens x 2 slots", (2, 2), 2),
    Shape("2 requests x 3 tokens x 2 slots", (3, 3), 2),
    Shape("3 requests x 1 token x 2 slots", (1, 1, 1), 2),
    Shape("3 requests x 2 tokens x 2 slots", (2, 2, 2), 2, slow=True, seconds=40.0),
    Shape("2 requests x 4 tokens x 2 slots", (4, 4), 2, slow=True, seconds=40.0),
)
QUICK = tuple(shape for shape in SHAPES if not shape.slow)


@dataclass(frozen=True)
class ContractResult:
    """What became of one contract; `workload` and `violations` tell what refuted it, `note` why it is not confirmed."""

    shape: str
    verdict: Verdict
    seconds: float
    paths: int = 0
    workload: Workload | None = None
    violations: dict[str, Violation] = field(default_factory=dict)
    note: str = ""


# -- In the child: the contract, over symbols ------------------------------------------------------------


class Departure(BaseException):
    """Ends a symbolic run that is not as it should be; no `Exception`, so that few catch it."""


class ScriptedModel:
    """The language model of a symbolic run. It knows what it has to be asked, and ends a run that differs."""

    def __init__(self, shape: Shape, dialect: Dialect, tokens: Tokens) -> None:
        self.shape, self.dialect, self.tokens = shape, dialect, tokens
        self.due = [list(prompt) for prompt in tokens.prompts]
        self.generated: list[list[int]] = [[] for _ in shape.lengths]
        self.waiting = list(range(len(shape.lengths)))
        self.running: list[int] = []
        self.departed = False
        self._admit()

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        owners = self._owners(batch)
        if owners is None:
            self.departed = True
            raise Departure
        given = {r: self.tokens.scripts[r][len(self.generated[r])] for r in self.running}
        for request, token in given.items():
            self._advance(request, token)
        self._admit()
        return [self.tokens.pad if owner is None else given[owner] for owner in owners]

    def right(self, result: Any) -> bool:
        """Whether everything was asked, and `result` is what the dialect demands."""
        if self.departed or self.running or not isinstance(result, dict) or len(result) != len(self.generated):
            return False
        return all(_same(result.get(f"r{r}"), self._output(r)) for r in range(len(self.generated)))

    def _admit(self) -> None:
        while self.waiting and len(self.running) < self.shape.num_slots:
            self.running.append(self.waiting.pop(0))

    def _advance(self, request: int, token: int) -> None:
        generated = self.generated[request]
        generated.append(token)
        self.due[request].append(token)
        # The length first: it is concrete, and a comparison of symbols splits the path in two.
        if len(generated) == self.shape.lengths[request] or token == self.tokens.stop:
            self.running.remove(request)

    def _output(self, request: int) -> list[int]:
        generated = self.generated[request]
        stopped = self.dialect.stop_token == "excluded" and generated[-1] == self.tokens.stop
        return generated[:-1] if stopped else generated

    def _owners(self, batch: Any) -> list[int | None] | None:
        """Give every row its request, a pad row None; or return None for a batch that should not be."""
        padded = self.dialect.batch == "padded"
        size = self.shape.num_slots if padded else len(self.running)
        if not isinstance(batch, list) or not self.running or len(batch) != size:
            return None
        owners = [self._owner(row) for row in batch]
        return owners if {owner for owner in owners if owner is not None} == set(self.running) else None

    def _owner(self, row: Any) -> int | None:
        if not isinstance(row, list):
            return None
        # The same objects first, which splits no path: most implementations hand on what they were given.
        for same in (_identical, _same):
            for request in self.running:
                if same(row, self.due[request]):
                    return request
        return None


def _identical(one: list[int], other: list[int]) -> bool:
    return len(one) == len(other) and all(map(lambda a, b: a is b, one, other))


def _same(one: Any, other: list[int]) -> bool:
    if not isinstance(one, list) or len(one) != len(other):
        return False
    return all(a is b or a == b for a, b in zip(one, other, strict=True))


def contract(generate: Generate, shape: Shape, dialect: Dialect) -> Callable[..., bool]:
    """Build the function that is true where a run of `shape` with the given tokens is right."""

    def holds(*values: int) -> bool:
        tokens = shape.tokens(values)
        first = [prompt[0] for prompt in tokens.prompts]
        if any(a == b for index, a in enumerate(first) for b in first[:index]):
            return True  # equal prompts are for the other legs: here every row says whose it is
        model = ScriptedModel(shape, dialect, tokens)
        requests = [Request(f"r{r}", list(p), shape.max_tokens(r, dialect)) for r, p in enumerate(tokens.prompts)]
        try:
            result = generate(model, requests, shape.num_slots, tokens.stop)
        except Departure:
            return False
        return model.right(result) and _untouched(requests, shape, dialect, tokens)

    return holds


def _untouched(requests: list[Request], shape: Shape, dialect: Dialect, tokens: Tokens) -> bool:
    return len(requests) == len(shape.lengths) and all(
        request.request_id == f"r{r}"
        and request.max_tokens == shape.max_tokens(r, dialect)
        and _same(request.prompt, tokens.prompts[r])
        for r, request in enumerate(requests)
    )


def analyse(generate: Generate, shape: Shape, dialect: Dialect) -> dict[str, Any]:
    """Let CrossHair decide one contract. Only for a process of its own: CrossHair patches the interpreter."""
    from crosshair.condition_parser import ConditionExpr, ConditionExprType, Conditions
    from crosshair.core import ConditionCheckable
    from crosshair.core_and_libs import run_checkables
    from crosshair.fnutil import FunctionInfo
    from crosshair.options import DEFAULT_OPTIONS, AnalysisOptionSet

    holds = contract(generate, shape, dialect)
    found: list[list[int]] = []

    def note_values(arguments: Any, returned: object, names: object) -> tuple[str, str]:
        found.append([int(value) for value in arguments.arguments.values()])
        return "the contract", "None"

    true = ConditionExpr(ConditionExprType.POSTCONDITION, lambda scope: bool(scope["__return__"]), __file__, 1, "true")
    symbols = [Parameter(f"t{i}", Parameter.POSITIONAL_OR_KEYWORD, annotation=int) for i in range(shape.count)]
    conditions = Conditions(holds, holds, [], [true], frozenset(), Signature(symbols), None, [], note_values)
    stats: Counter[str] = Counter()
    limits = AnalysisOptionSet(
        # No parser: a docstring of the implementation that reads like a contract is none of ours.
        analysis_kind=(),
        per_condition_timeout=shape.seconds,
        per_path_timeout=PATH_SECONDS,
        stats=stats,
    )
    checkable = ConditionCheckable(FunctionInfo.from_fn(holds), DEFAULT_OPTIONS.overlay(limits), conditions)
    said = [message.message for message in run_checkables([checkable])]
    return {"said": said, "values": found[-1] if found else None, "paths": stats["num_paths"]}


def child(request: str) -> None:
    """Decide the contracts of a request, as `_ask` writes it; print one JSON line each."""
    asked = json.loads(request)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the implementation prints is not an answer
    dialect, obstacles = parse_dialect(asked["dialect"]), []  # type: Dialect, list[str]
    watched = _prepare(obstacles)
    implementation = load(asked["target"], dialect)
    for shape in (Shape(*row) for row in asked["shapes"]):
        began = time.perf_counter()
        answer = analyse(watched(implementation.fresh()._generate), shape, dialect)
        answer |= {"shape": shape.name, "seconds": time.perf_counter() - began, "obstacles": obstacles}
        print(json.dumps(answer), file=answers, flush=True)
        if ENDLESS in obstacles:
            return
        obstacles.clear()


def _prepare(obstacles: list[str]) -> Callable[[Generate], Generate]:
    """Refuse what cannot be followed: writing files, processes, threads, endless runs. Return what guards a run."""
    import crosshair.core_and_libs  # noqa: F401  it registers what is changed here
    from crosshair.auditwall import engage_auditwall
    from crosshair.register_contract import REGISTERED_CONTRACTS
    from crosshair.util import ControlFlowException

    def refuse(thread: threading.Thread) -> None:
        obstacles.append("it starts threads, which symbolic execution does not follow")
        raise Departure

    def give_up(kind: type[BaseException], *arguments: object) -> BaseException:
        given_up.append(BaseException.__new__(kind, *arguments))
        return given_up[-1]

    given_up: list[BaseException] = []
    threading.Thread.start = refuse  # type: ignore[assignment, method-assign]
    ControlFlowException.__new__ = give_up  # type: ignore[assignment, method-assign]
    REGISTERED_CONTRACTS.pop(time.monotonic, None)  # an event loop needs a clock that is not a symbol
    ring = _alarm(obstacles)
    engage_auditwall()
    return lambda generate: _watched(generate, given_up, ring)


def _watched(generate: Generate, given_up: list[BaseException], ring: Callable[..., None]) -> Generate:
    """Limit the time of a symbolic run, and give CrossHair back what the implementation caught of its exceptions."""

    def run(*arguments: Any) -> Any:
        given_up.clear()
        _set_alarm(PATH_SECONDS, ring)
        try:
            return generate(*arguments)
        finally:
            _set_alarm(0, ring)
            if given_up:
                raise given_up[-1]

    return run


def _set_alarm(seconds: float, ring: Callable[..., None]) -> None:
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)


def _alarm(obstacles: list[str]) -> Callable[..., None]:
    rings = 0

    def ring(signum: int, frame: Any) -> None:
        nonlocal rings
        rings += 1
        if rings > IGNORED_ALARMS:
            os._exit(UNSTOPPABLE)
        obstacles.append(ENDLESS)
        raise Departure

    return ring


# -- In the parent: start, collect, replay -----------------------------------------------------------------


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
    return shares


def _cost(shape: Shape) -> int:
    cost = 1
    for length in shape.lengths:
        cost *= length + 1
    return cost * sum(shape.lengths)


def _ask(target: str, dialect: Dialect, shapes: list[Shape]) -> list[tuple[str, dict[str, Any]]]:
    """Run the child; every shape gets an answer, if only that there is none."""
    # -P, and our folder last: nothing in the folder of the caller shadows a module of ours.
    code = f"import sys; sys.path.append({HOUSE!r}); from conformance.contracts import child; child(sys.argv[1])"
    request = {"target": target, "dialect": str(dialect), "shapes": [astuple(shape) for shape in shapes]}
    command = [sys.executable, "-P", "-c", code, json.dumps(request)]
    limit = START_SECONDS + sum(shape.seconds for shape in shapes)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        lines, problem = done.stdout, _problem(done.returncode, done.stderr)
    except subprocess.TimeoutExpired as expired:
        lines = expired.stdout.decode() if isinstance(expired.stdout, bytes) else expired.stdout or ""
        problem = {"obstacles": [f"no answer within {limit:g} seconds"]}
    answers = {answer["shape"]: answer for answer in map(json.loads, lines.splitlines())}
    endless = any(ENDLESS in answer["obstacles"] for answer in answers.values())
    missing = {"obstacles": [f"not tried, since {ENDLESS}"]} if endless else problem
    return [(shape.name, answers.get(shape.name, missing)) for shape in shapes]


def _problem(status: int, errors: str) -> dict[str, Any]:
    """What to answer for the contracts that the child left open."""
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
    if text == "Not confirmed.":
        return f"CrossHair did not decide every path in {shape.seconds:g} s"
    error = text.partition(" when calling ")[0].partition(" yields ")[2] or text
    what = "" if error in ("", "false") else f" ({error})"
    return f"CrossHair's counterexample{what} violates nothing when it is run; `is`, for one, differs between symbols"


def _replayed(target: str, dialect: Dialect, shape: Shape, values: list[int]) -> tuple[Workload, dict[str, Violation]]:
    """Replay the values; then let tokens differ where they need not be equal, so that the run shows what matters."""
    workload = shape.workload(values, dialect)
    violations = replay(target, dialect, workload)
    if not violations or "run/ends" in violations:  # a run that does not end takes seconds
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


# -- The command ----------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the verdicts for the targets, or write those for the reference and the variants into a document."""
    parser = argparse.ArgumentParser(prog="python -m conformance.contracts", description="CrossHair contracts.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="a module, module:function, or a .py file")
    parser.add_argument("--dialect", default="", help="for example stop_token=excluded")
    parser.add_argument("--slow", action="store_true", help="the heavier shapes too")
    parser.add_argument("--write", type=Path, metavar="DOCUMENT", help="renew the tables of docs/crosshair.md")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.write:
            text = chosen.write.read_text()
            chosen.write.write_text(splice(text, document()))
        for target in chosen.targets:
            _report(target, parse_dialect(chosen.dialect, load(target).dialect), SHAPES if chosen.slow else QUICK)
    except (TargetError, ValueError) as error:
        parser.error(str(error))
    return 0


def _report(target: str, dialect: Dialect, shapes: Sequence[Shape]) -> None:
    began = time.perf_counter()
    results = check_contracts(target, dialect, shapes)
    print(f"{target}  ({dialect}; {time.perf_counter() - began:.1f} s)")
    for result in results:
        told = ", ".join(result.violations) or result.note
        print(f"  {result.shape:58} {result.verdict:14}{result.paths:4} paths {result.seconds:5.1f} s  {told}".rstrip())


def variants() -> list[str]:
    """The honest variants, by module name."""
    return [f"variants.{path.stem}" for path in sorted(Path(HOUSE, "variants").glob("[!_]*.py"))]


def document() -> str:
    """The tables of docs/crosshair.md: every shape for the reference, the quick ones for every honest variant."""
    lines = ["| shape | verdict | paths | seconds |", "|---|---|---|---|"]
    for r in check_contracts(REFERENCE, load(REFERENCE).dialect, SHAPES):
        lines.append(f"| {r.shape} | {r.verdict} | {r.paths} | {r.seconds:.1f} |")
    lines += ["", f"| variant | {' | '.join(shape.name for shape in QUICK)} |", "|---" * (len(QUICK) + 1) + "|"]
    notes: dict[str, list[str]] = {}
    for target in variants():
        results = check_contracts(target, load(target).dialect)
        lines.append(f"| {target} | {' | '.join(result.verdict for result in results)} |")
        notes |= {target: list(dict.fromkeys(r.note for r in results if r.note))}
    return "\n".join([*lines, "", *(f"- `{target}`: {'; '.join(told)}." for target, told in notes.items() if told)])


def splice(text: str, block: str) -> str:
    """Put `block` between the two marks of a document."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the document should hold {BEGIN} and, after it, {END}")
    return f"{before}{begin}\n\n{block.strip()}\n\n{end}{after}"


if __name__ == "__main__":
    raise SystemExit(main())
