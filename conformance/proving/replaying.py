"""The bridge: recorded runs, replayed through the transition system.

What is proved of `reference.transitions` says nothing about a piece of code by itself. It does for the
runs that the transition system explains: each call has the rows that it foretells, and the result is
what it generated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from random import Random

from conformance.contracts.command import variants
from conformance.grading.referee_random import random_workload
from conformance.history import Returned, Run
from conformance.legs import scope
from conformance.targets import Implementation
from conformance.workloads import Ask, Session, Workload
from reference.transitions import Problem, halted, replay
from reference.vocabulary import Dialect

PROFILED = tuple(f"variants.{profile}_" for profile in ("cached", "engine", "fair"))
LARGE, RANDOM, SEED = 60, 400, 20_240_817


def core_variants() -> list[str]:
    """The honest variants of `generate`, by module name, but for those whose subject is a profile."""
    return [name for name in variants() if not name.startswith(PROFILED)]


def accepted(run: Run, dialect: Dialect) -> bool:
    """Whether the transition system explains the run: its calls, and what it returned."""
    outcome, workload = run.outcome, run.workload
    if not isinstance(outcome, Returned) or outcome.malformed or any(call.malformed for call in run.calls):
        return False
    problem = Problem.of(workload.requests(), workload.num_slots, workload.stop_token, dialect)
    steps = [(call.rows, call.replies or ()) for call in run.calls]
    states = replay(problem, steps, padded=dialect.batch == "padded")
    results = [
        {
            ask.request_id: tuple(dialect.output(tokens, workload.stop_token))
            for ask, tokens in zip(workload.asks, state.generated, strict=True)
        }
        for state in states
        if halted(state)
    ]
    return len({key for key, _ in outcome.pairs}) == len(outcome.pairs) and dict(outcome.pairs) in results


def small(dialect: Dialect, *, every: int = 1) -> Iterator[Workload]:
    """The small scope: all of up to two requests, shared and sampled prompts; of three and four each `every`th."""
    parts: list[Callable[[Dialect], Iterator[Workload]]] = [scope.shared, scope.sampled, lambda d: scope.up_to(2, d)]
    for part in parts:
        yield from part(dialect)
    for number, workload in enumerate([*scope.three(dialect), *scope.four(dialect)][:16_000]):
        if number % every == 0:
            yield workload


def wide(dialect: Dialect) -> Iterator[Workload]:
    """Random workloads beyond the small scope, the same each time: with odd tokens and prompts, and large ones."""
    draw = Random(SEED)
    for _ in range(RANDOM):
        yield random_workload(draw, dialect)
    for _ in range(LARGE):
        yield large_workload(draw, dialect)


def large_workload(draw: Random, dialect: Dialect, most_slots: int = 24) -> Workload:
    """Draw 20 to 80 requests of up to 60 tokens, some of them stopped, in up to `most_slots` slots."""
    stop = draw.randrange(1000)
    asks = []
    for index in range(draw.randrange(20, 81)):
        base = 1000 * (index + 1)
        prompt = tuple(base + k for k in range(draw.randrange(1, 5)))
        limit = draw.randrange(61) if draw.random() < 0.3 else draw.randrange(12)
        script = [base + 100 + k for k in range(max(limit, 1))]
        if limit and draw.random() < 0.5:
            script[draw.randrange(limit)] = stop
        counted = len(prompt) if dialect.max_tokens == "total" else 0
        asks.append(Ask(f"r{index}", prompt, limit + counted, tuple(script)))
    return Workload(tuple(asks), draw.randint(1, most_slots), stop)


@dataclass(frozen=True)
class Replayed:
    """How many runs and calls were replayed, and the first run that was not accepted."""

    runs: int
    calls: int
    refused: object = None


def replayed(implementation: Implementation, *, every: int) -> Replayed:
    """Run and replay the small scope and the wide workloads, up to the first run that is not accepted."""
    runs, calls = 0, 0
    for workload in chain(small(implementation.dialect, every=every), wide(implementation.dialect)):
        (run,) = implementation.run(Session((workload,)))
        runs, calls = runs + 1, calls + len(run.calls)
        if not accepted(run, implementation.dialect):
            return Replayed(runs, calls, run)
    return Replayed(runs, calls)


# -- Negative controls: a right run with one thing changed -------------------------------------------

Change = Callable[[Run], Run]


def without_a_call(run: Run) -> Run:
    return replace(run, calls=run.calls[1:])


def a_call_twice(run: Run) -> Run:
    return replace(run, calls=(run.calls[0], *run.calls))


def a_shorter_row(run: Run) -> Run:
    first, *rest = run.calls  # the first, since a later one may begin with a pad row
    return replace(run, calls=(first._replace(rows=(first.rows[0][:-1], *first.rows[1:])), *rest))


def another_reply(run: Run) -> Run:
    first, *rest = run.calls
    assert first.replies
    return replace(run, calls=(first._replace(replies=(first.replies[0] + 1, *first.replies[1:])), *rest))


def results_exchanged(run: Run) -> Run:
    assert isinstance(run.outcome, Returned)
    (one, a), (other, b), *rest = run.outcome.pairs
    return replace(run, outcome=Returned(((one, b), (other, a), *rest)))


def a_result_left_out(run: Run) -> Run:
    assert isinstance(run.outcome, Returned)
    return replace(run, outcome=Returned(run.outcome.pairs[1:]))


CHANGES: dict[str, Change] = {
    "a call is left out": without_a_call,
    "a call is made twice": a_call_twice,
    "a row lacks its last token": a_shorter_row,
    "a reply is another token": another_reply,
    "two results are exchanged": results_exchanged,
    "a result is left out": a_result_left_out,
}


def refused(implementation: Implementation) -> list[str]:
    """Name the changes that make a run of three requests in two slots unacceptable; all should."""
    kinds = ((3, None), (2, None), (3, None))
    workload = scope.built(kinds, 2, scope.PLAIN, 0, implementation.dialect)
    (run,) = implementation.run(Session((workload,)))
    if not accepted(run, implementation.dialect):
        return []
    return [name for name, change in CHANGES.items() if not accepted(change(run), implementation.dialect)]
