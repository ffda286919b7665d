"""What sounds right about the number of calls and is false, each with its smallest counterexample.

A case is concrete: the lengths and arrivals of a few requests. The search goes through a small scope,
the smallest case first, so that a counterexample is found again each time and never only stated.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from heapq import heapreplace
from itertools import combinations_with_replacement, pairwise, permutations, product
from math import ceil


@dataclass(frozen=True)
class Case:
    slots: int
    lengths: tuple[int, ...]
    arrivals: tuple[int, ...]

    def starts(self) -> list[int]:
        """Compute the step of each request's first call; one of length 0 has none and holds no slot."""
        free = [0] * self.slots
        starts = []
        for length, arrival in zip(self.lengths, self.arrivals, strict=True):
            starts.append(max(free[0], arrival) if length else arrival)
            if length:
                heapreplace(free, starts[-1] + length)
        return starts

    def ends(self) -> list[int]:
        return [start + length for start, length in zip(self.starts(), self.lengths, strict=True)]

    def calls(self) -> int:
        """Count the steps at which anything runs."""
        return len({step for start, end in zip(self.starts(), self.ends(), strict=True) for step in range(start, end)})

    def static_calls(self) -> int:
        """Count the calls of a server that waits for each full batch."""
        return sum(max(self.lengths[i : i + self.slots]) for i in range(0, len(self.lengths), self.slots))

    def least_calls(self) -> int:
        """Find the fewest calls that any order needs."""
        return min(replace(self, lengths=order).calls() for order in permutations(self.lengths))


@dataclass(frozen=True)
class FalseClaim:
    """`figures` gives two numbers of a case; the claim is that the first is never above the second."""

    name: str
    statement: str
    figures: Callable[[Case], tuple[int, int]]
    counterexample: Case
    found: tuple[int, int]
    online: bool = False


def cases(requests: int, slots: int, longest: int, last: int) -> Iterator[Case]:
    """Yield every case of a scope, the smallest first: fewest requests, then slots, tokens and arrivals."""
    for count, num_slots in product(range(1, requests + 1), range(1, slots + 1)):
        lengths = sorted(product(range(1, longest + 1), repeat=count), key=lambda lengths: (sum(lengths), lengths))
        arrivals = combinations_with_replacement(range(last + 1), count)
        for when, these in product(sorted(arrivals, key=lambda when: (sum(when), when)), lengths):
            yield Case(num_slots, these, when)


def smallest(claim: FalseClaim) -> Case:
    """Search for the smallest counterexample, from nothing."""
    scope = cases(4, 3, 3, 2) if claim.online else cases(5, 3, 3, 0)
    return next(case for case in scope if operator.gt(*claim.figures(case)))


def bound(case: Case) -> int:
    return max(*case.lengths, 0, ceil(sum(case.lengths) / case.slots))


def in_order(case: Case) -> tuple[int, int]:
    """Give the ends of the two neighbours that are furthest out of order."""
    return max(pairwise(case.ends()), key=lambda ends: ends[0] - ends[1], default=(0, 0))


def shortest_first(case: Case) -> Case:
    return replace(case, lengths=tuple(sorted(case.lengths)))


def longest_first(case: Case) -> Case:
    return replace(case, lengths=tuple(sorted(case.lengths, reverse=True)))


def one_earlier(case: Case) -> tuple[int, int]:
    """Give the calls where one request arrives a step earlier, in the same order, and as it is."""
    most = case.calls()
    for i, arrival in enumerate(case.arrivals):
        if arrival > (case.arrivals[i - 1] if i else 0):
            moved = (*case.arrivals[:i], arrival - 1, *case.arrivals[i + 1 :])
            most = max(most, replace(case, arrivals=moved).calls())
    return most, case.calls()


def graham_of(case: Case) -> tuple[int, int]:
    return case.slots * case.calls(), sum(case.lengths) + (case.slots - 1) * max(case.lengths)


# fmt: off
FALSE = (
    FalseClaim("false/formula", "calls = max(longest, ceil(total / num_slots))",
               lambda case: (case.calls(), bound(case)), Case(2, (1, 1, 2), (0, 0, 0)), (3, 2)),
    FalseClaim("false/optimal", "no order needs fewer calls than the order of arrival",
               lambda case: (case.calls(), case.least_calls()), Case(2, (1, 1, 2), (0, 0, 0)), (3, 2)),
    FalseClaim("false/shortest-first", "shortest first needs no fewer calls than the order of arrival",
               lambda case: (case.calls(), shortest_first(case).calls()), Case(2, (1, 2, 1, 2), (0,) * 4), (4, 3)),
    FalseClaim("false/longest-first", "longest first needs no more calls than the order of arrival",
               lambda case: (longest_first(case).calls(), case.calls()), Case(2, (2, 3, 2, 3, 2), (0,) * 5), (7, 6)),
    FalseClaim("false/finish-order", "requests finish in the order of arrival",
               in_order, Case(2, (2, 1), (0, 0)), (2, 1)),
    FalseClaim("false/online-graham", "num_slots * calls <= total + (num_slots - 1) * longest, with arrivals",
               graham_of, Case(2, (1, 1), (0, 1)), (4, 3), online=True),
    FalseClaim("false/online-earlier", "a request that arrives earlier never costs a call",
               one_earlier, Case(2, (1, 1), (1, 1)), (2, 1), online=True),
    FalseClaim("false/online-static", "a static server that waits until each batch is full needs no fewer calls",
               lambda case: (case.calls(), case.static_calls()), Case(2, (1, 1), (0, 1)), (2, 1), online=True),
)
# fmt: on
