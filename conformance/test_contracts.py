"""CrossHair contracts on the implementation under test: within each shape, for every token there is."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from conformance.contracts import QUICK, SHAPES, ContractResult, Shape, check_contracts, contract, replay
from conformance.targets import load
from reference.vocabulary import Dialect

Decide = Callable[[Shape], ContractResult]
EVERY_SHAPE = [pytest.param(s, id=s.name, marks=[pytest.mark.slow] if s.slow else []) for s in SHAPES]


@pytest.fixture(scope="module", autouse=True)
def in_this_process(request: pytest.FixtureRequest, target: str) -> None:
    """Skip what symbolic execution cannot serve: it needs the implementation's own Python code, outside any sandbox."""
    if request.config.getoption("--isolated") or target.startswith("exec:"):
        pytest.skip("not confirmed: an implementation in another process cannot be executed symbolically")
    if not load(target).has_generate:
        pytest.skip(f"{target} offers no `generate`")


@pytest.fixture(scope="module")
def decide(request: pytest.FixtureRequest, target: str, dialect: Dialect) -> Decide:
    """Decide all selected contracts at once, two at a time; a worker of xdist, which shares the machine, one by one."""
    results: dict[str, ContractResult] = {}

    def result(shape: Shape) -> ContractResult:
        if shape.name not in results:
            alone = "PYTEST_XDIST_WORKER" in os.environ
            shapes = [shape] if alone else _selected(request.session)
            results.update((r.shape, r) for r in check_contracts(target, dialect, shapes))
        return results[shape.name]

    return result


def _selected(session: pytest.Session) -> list[Shape]:
    name = test_every_run_of_the_shape_is_right.__name__
    chosen: list[Any] = [item for item in session.items if getattr(item, "originalname", "") == name]
    return [item.callspec.params["shape"] for item in chosen]


@pytest.mark.parametrize("shape", EVERY_SHAPE)
def test_every_run_of_the_shape_is_right(shape: Shape, decide: Decide) -> None:
    result = decide(shape)
    if result.verdict == "not confirmed":
        pytest.skip(f"not confirmed, which is neither a pass nor a failure: {result.note}")
    if result.verdict != "confirmed":
        pytest.fail(describe(result), pytrace=False)


def describe(result: ContractResult) -> str:
    """Tell what refuted a contract: every violation of the replayed run, and the run as code."""
    if result.workload is None:
        return f"{result.shape}: {result.verdict}: {result.note}"
    told = [f"{result.shape}: {result.verdict} by symbolic execution (CrossHair), and by this run when replayed"]
    for name, violation in result.violations.items():
        told += [f"  {name} violated at call {violation.call}"]
        told += [f"    expected: {violation.expected}", f"    observed: {violation.observed}"]
    return "\n".join([*told, result.workload.code()])


@pytest.mark.crosshair_backend
@pytest.mark.parametrize("shape", [pytest.param(s, id=s.name) for s in QUICK])
def test_every_run_that_the_crosshair_backend_finds_is_right(
    shape: Shape, target: str, dialect: Dialect, pytestconfig: pytest.Config
) -> None:
    pytest.importorskip("hypothesis_crosshair_provider", reason="pip install hypothesis-crosshair")
    from crosshair.util import ControlFlowException

    values: list[int] = []
    try:
        _search(contract(load(target, dialect).fresh().generate, shape, dialect), shape, values)
        return
    except ControlFlowException as obstacle:
        pytest.skip(f"CrossHair cannot follow this implementation: {obstacle}")
    except Exception as error:
        claim = repr(error)
    workload = shape.workload(values, dialect)
    violations = replay(target, dialect, workload)
    if not violations:
        pytest.skip(f"not confirmed: {claim} comes of a run that violates nothing when it is replayed")
    pytest.fail(describe(ContractResult(shape.name, "refuted", 0.0, 0, workload, violations)), pytrace=False)


def _search(holds: Callable[..., bool], shape: Shape, last: list[int]) -> None:
    """Let Hypothesis draw the tokens as symbols; `last` keeps the last run's, which are plain after a failure."""

    @settings(backend="crosshair", max_examples=40, deadline=None, database=None, phases=[Phase.generate])
    @given(st.tuples(*[st.integers()] * shape.count))
    def right(values: tuple[int, ...]) -> None:
        last[:] = values
        assert holds(*values)

    right()
