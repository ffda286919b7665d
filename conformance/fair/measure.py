"""What fairness gives and what it costs, measured: short requests beside very long ones, under several policies.

Everything is counted on the engines as they run, in model calls and in tokens; there is no clock.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.fair.feedback import Engine as FeedbackEngine
from reference.engine import Engine as FirstEngine
from reference.fair import Engine as FairEngine
from reference.vocabulary import Request

SLOTS, LONG, SHORTS, SEED = 4, 2_000, 300, 4
PROMPT, STOP = 16, -1
GAP, SHORTEST, LONGEST = 9.0, 4, 28  # calls between arrivals on average; tokens of a short request


@dataclass(frozen=True)
class Policy:
    """A way to build an engine; `style` is its colour in the picture."""

    name: str
    style: str
    make: Callable[[Any], Any]


POLICIES = (
    Policy("FIFO", "fifo", lambda model: FirstEngine(model, SLOTS, STOP)),
    Policy("quantum 64", "q64", lambda model: FairEngine(model, SLOTS, STOP, quantum=64)),
    Policy("quantum 16", "q16", lambda model: FairEngine(model, SLOTS, STOP, quantum=16)),
    Policy("quantum 4", "q4", lambda model: FairEngine(model, SLOTS, STOP, quantum=4)),
    Policy("feedback queue", "mlfq", lambda model: FeedbackEngine(model, SLOTS, STOP, base=4, levels=6, starving=256)),
)


@dataclass(frozen=True)
class Outcome:
    """One policy beside so many long requests. `short` are the latencies of the short ones, in order; in calls.

    A latency counts the calls from the arrival to the one that ended the request. `again` are the prefix tokens
    whose keys and values had been computed before, when a request resumed without its cache.
    """

    policy: Policy
    longs: int
    short: tuple[int, ...]
    long: tuple[int, ...]
    calls: int
    rows: int
    again: int

    def quantile(self, share: float) -> int:
        """The smallest latency that at least this share of the short requests did not exceed."""
        return self.short[max(0, -(-int(share * 1000) * len(self.short) // 1000) - 1)]


class CountingModel:
    """A model that never stops a request; it counts rows, and prefixes that it has to read once more."""

    def __init__(self) -> None:
        self.calls = self.rows = self.again = 0
        self.before: set[int] = set()

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        now = {row[0] for row in batch}  # a prompt begins with the number of its request
        for row in batch:
            if row[0] not in self.before and len(row) > PROMPT:
                self.again += len(row) - 1  # the last token is new to it in any case
        self.calls, self.rows, self.before = self.calls + 1, self.rows + len(batch), now
        return [0] * len(batch)


def arrivals(longs: int) -> list[tuple[int, Request]]:
    """The long requests first, at call 0; then short ones, at random."""
    dice = random.Random(SEED)
    asked = [(0, Request(f"long {i}", [i, *[0] * (PROMPT - 1)], LONG)) for i in range(longs)]
    when = 0.0
    for i in range(longs, longs + SHORTS):
        when += dice.expovariate(1 / GAP)
        asked.append((int(when), Request(f"short {i}", [i, *[0] * (PROMPT - 1)], dice.randint(SHORTEST, LONGEST))))
    return asked


def run(policy: Policy, longs: int) -> Outcome:
    """Run one policy to its end."""
    model = CountingModel()
    engine, due, came = policy.make(model), arrivals(longs), {}
    latencies: dict[str, int] = {}
    now = 0  # a step without anybody is a call's time in which nothing happens
    while due or engine.has_unfinished_requests():
        while due and due[0][0] <= now:
            when, request = due.pop(0)
            came[request.request_id] = when
            engine.add_request(request)
        now += 1
        for output in engine.step():
            if output.finish_reason:
                latencies[output.request_id] = now - came[output.request_id]
    short = tuple(sorted(latency for name, latency in latencies.items() if name.startswith("short")))
    long = tuple(sorted(latency for name, latency in latencies.items() if name.startswith("long")))
    return Outcome(policy, longs, short, long, model.calls, model.rows, model.again)


def outcomes() -> dict[int, list[Outcome]]:
    """All policies, beside one long request and beside as many as there are slots."""
    return {longs: [run(policy, longs) for policy in POLICIES] for longs in (1, SLOTS)}
