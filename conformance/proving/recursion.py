"""The bridge from the theorems on costs to the calls that are made: the recursion, compared on every small case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

from z3 import ArithRef, IntVal, simplify

from conformance.proving.agreement import GO, STOP, Compared, compare
from reference import transitions
from reference.formal import counterexamples, schedule
from reference.formal.costs import Take
from reference.formal.counterexamples import Case
from reference.formal.schedule import Run
from reference.generate import generate
from reference.vocabulary import Request

Told = Callable[[Case], Case]


class Ledger:
    """A language model that never says stop, and writes down which requests are in each call."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        self.calls.append([row[0] for row in batch])
        return [GO] * len(batch)


def as_it_is(case: Case) -> Case:
    return case


def one_slot_more(case: Case) -> Case:
    return replace(case, slots=case.slots + 1)


# -- Against `generate` ------------------------------------------------------------------------------


def lengths_and_slots() -> Iterator[Case]:
    for count, slots in product(range(5), range(1, 5)):
        yield from (Case(slots, lengths, (0,) * count) for lengths in product(range(4), repeat=count))


def calls_of_generate(case: Case) -> list[list[int]]:
    """Say which requests are in each call that `generate` makes."""
    model = Ledger()
    requests = [Request(str(r), [r], length) for r, length in enumerate(case.lengths)]
    generate(model, requests, case.slots, STOP)
    return model.calls


def compare_with_generate(told: Told = as_it_is) -> Compared:
    """Compare calls, starts and ends, for all lengths up to 3 of up to 4 requests in up to 4 slots."""
    return compare(("case", _foretold(told(case), calls_of_generate(case)), case) for case in lengths_and_slots())


def _foretold(case: Case, calls: list[list[int]]) -> bool:
    running = zip(case.lengths, case.starts(), case.ends(), strict=True)
    return len(calls) == case.calls() and all(
        [step for step, rows in enumerate(calls) if r in rows] == (list(range(start, end)) if length else [])
        for r, (length, start, end) in enumerate(running)
    )


# -- Against the transition system, with arrivals ----------------------------------------------------


def steps_of(case: Case) -> list[tuple[int, ...]]:
    """Run the transition system with arrivals: which requests are in the call of each step."""
    count = len(case.lengths)
    problem = transitions.Problem(((),) * count, case.lengths, case.slots, STOP)
    state, steps = replace(transitions.initial(problem), waiting=()), list[tuple[int, ...]]()
    while len(state.finished) < count:
        arrived = tuple(r for r, arrival in enumerate(case.arrivals) if arrival == len(steps) and case.lengths[r])
        state = transitions.admit(replace(state, waiting=state.waiting + arrived))
        steps.append(tuple(sorted(state.running)))
        state = transitions.advance(problem, state, dict.fromkeys(state.running, GO))
    return steps


def compare_with_transitions(told: Told = as_it_is) -> Compared:
    """Compare who runs in which step, for all small lengths and arrivals."""
    scope = counterexamples.cases(requests=3, slots=3, longest=3, last=3)
    return compare(("case", _runs_then(told(case), steps_of(case)), case) for case in scope)


def _runs_then(case: Case, steps: list[tuple[int, ...]]) -> bool:
    running = zip(case.starts(), case.ends(), strict=True)
    return sum(map(bool, steps)) == case.calls() and all(
        [step for step, rows in enumerate(steps) if r in rows] == list(range(start, end))
        for r, (start, end) in enumerate(running)
    )


# -- Against the run that z3 reasons about -----------------------------------------------------------


def number(term: ArithRef) -> int:
    return int(simplify(term).as_long())


def encoded(case: Case, take: Take) -> tuple[int, int, int, int]:
    """Serve the requests of a case with the run that z3 reasons about: its calls, end, total and longest."""
    run = schedule.empty(case.slots)
    for length, arrival in zip(case.lengths, case.arrivals, strict=True):
        run = take(run, IntVal(length), IntVal(arrival))
        run = replace(run, **{name: simplify(getattr(run, name)) for name in ("total", "longest", "arrival", "calls")})
        run = replace(run, loads=tuple(map(simplify, run.loads)))
    return number(run.calls), number(run.end), number(run.total), number(run.longest)


def expected(case: Case) -> tuple[int, int, int, int]:
    return case.calls(), max(case.ends()), sum(case.lengths), max(case.lengths)


def compare_encoding(take: Take = Run.take) -> Compared:
    """Compare calls, end, total and longest, for all small lengths and arrivals."""
    scope = counterexamples.cases(requests=3, slots=3, longest=2, last=2)
    return compare(("case", encoded(case, take) == expected(case), case) for case in scope)
