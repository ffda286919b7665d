"""What a right run of a workload looks like, and the quick look whether a run is one.

This is the fast path: most runs are right, and comparing is cheaper than judging. `meta/` tests that
it agrees with the invariants, so that it decides nothing by itself.
"""

from __future__ import annotations

from typing import NamedTuple

from conformance.history import Returned, Run
from conformance.workloads import Tokens, Workload
from reference.vocabulary import Dialect


class Expected(NamedTuple):
    """The rows of every call, sorted, without pad rows; and the tokens generated for every request."""

    calls: list[list[Tokens]]
    generated: list[list[int]]


def expected(workload: Workload, dialect: Dialect) -> Expected:
    """Foretell the run of a workload whose model is pure, and does not fail."""
    tree, stop, slots = workload.tree, workload.stop_token, workload.num_slots
    limits, generated = workload.limits(dialect), [[] for _ in workload.asks]  # type: list[int], list[list[int]]
    due = [ask.prompt for ask in workload.asks]
    queue = [r for r, limit in enumerate(limits) if limit]
    queue.reverse()
    running: list[int] = []
    calls: list[list[Tokens]] = []
    outside = (workload.otherwise,)
    while True:
        while queue and len(running) < slots:
            running.append(queue.pop())
        if not running:
            return Expected(calls, generated)
        calls.append(sorted([due[r] for r in running]))
        still = []
        for r in running:
            token = tree.get(due[r], outside)[0]
            generated[r].append(token)
            due[r] = (*due[r], token)
            if token != stop and len(generated[r]) < limits[r]:
                still.append(r)
        running = still


def matches(run: Run, dialect: Dialect) -> bool:
    """Whether a plain run is just as expected; False where this quick look does not tell."""
    workload, outcome = run.workload, run.outcome
    quick = not workload.sampled and workload.situation == "plain" and isinstance(outcome, Returned)
    if not quick or run.inputs_changed or run.rows_changed or outcome.malformed:  # type: ignore[union-attr]
        return False
    wanted = expected(workload, dialect)
    if len(run.calls) != len(wanted.calls) or len(outcome.pairs) != len(workload.asks):  # type: ignore[union-attr]
        return False
    pads: set[Tokens] = set()
    for call, rows in zip(run.calls, wanted.calls, strict=True):
        if call.malformed or sorted(call.rows) != rows:
            left = _left_over(call.rows, rows)
            if dialect.batch != "padded" or len(call.rows) != workload.num_slots or left is None:
                return False
            pads.update(left)
        elif dialect.batch == "padded" and len(rows) != workload.num_slots:
            return False
    outputs = {
        ask.request_id: dialect.output(tokens, workload.stop_token)
        for ask, tokens in zip(workload.asks, wanted.generated, strict=True)
    }
    returned = {key: list(tokens) for key, tokens in outcome.pairs}  # type: ignore[union-attr]
    return len(pads) <= 1 and returned == outputs


def _left_over(rows: tuple[Tokens, ...], wanted: list[Tokens]) -> list[Tokens] | None:
    left = list(rows)
    for row in wanted:
        if row not in left:
            return None
        left.remove(row)
    return left
