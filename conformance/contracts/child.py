"""In the child process: the contract, over symbols."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from conformance.contracts.shapes import Shape, Tokens
from conformance.run import IGNORED_ALARMS, Generate
from conformance.targets import load, parse_dialect
from reference.vocabulary import Dialect, Request

CONFIRMED, UNDECIDED = "Confirmed over all paths.", "Not confirmed."  # CrossHair's words; only the first confirms
PATH_SECONDS = 5.0  # of one symbolic run; right ones take a few hundredths
ENDLESS = f"a symbolic run had not ended after {PATH_SECONDS:g} seconds"
UNSTOPPABLE = 75  # the exit status when a symbolic run ignores every alarm


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
        answer = analyse(watched(implementation.fresh().generate), shape, dialect)
        answer |= {"shape": shape.name, "seconds": time.perf_counter() - began, "obstacles": obstacles}
        print(json.dumps(answer), file=answers, flush=True)
        if ENDLESS in obstacles or answer["said"] == [UNDECIDED]:
            return  # larger shapes would take all their time as well
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
        except BaseException as error:
            if isinstance(error, Exception):
                raise
            raise Departure from error  # sys.exit, for one, is for the replay to judge
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
