"""A run as *list scheduling*: each request in turn goes to the slot that is free first.

A request of length p is in p consecutive calls, in one slot. A slot is a machine, its `load` the call
at which it is free again; the number of calls is the largest load. The `loads` are kept sorted.
"""

from __future__ import annotations

from dataclasses import dataclass

from z3 import And, ArithRef, BoolRef, If, Int, IntVal


def largest(x: ArithRef, y: ArithRef) -> ArithRef:
    return If(x >= y, x, y)


@dataclass(frozen=True)
class Run:
    """Sorted `loads`; of the requests so far, the `total` and `longest` length, the last `arrival` and the `calls`."""

    loads: tuple[ArithRef, ...]
    total: ArithRef
    longest: ArithRef
    arrival: ArithRef
    calls: ArithRef

    @property
    def slots(self) -> int:
        return len(self.loads)

    @property
    def end(self) -> ArithRef:
        """The first step at which every slot is free."""
        return self.loads[-1]

    def start(self, arrival: ArithRef | int = 0) -> ArithRef:
        """The step of the first call of the next request."""
        return largest(self.loads[0], arrival)

    def take(self, length: ArithRef, arrival: ArithRef | int = 0) -> Run:
        """Serve one request more in the slot that is free first."""
        return self.put(self.start(arrival) + length, length, arrival)

    def put(self, until: ArithRef, length: ArithRef, arrival: ArithRef | int = 0) -> Run:
        """Make the slot that is free first busy `until` then; the loads stay sorted."""
        following = zip(self.loads, self.loads[1:], strict=False)
        middle = [largest(load, If(until <= after, until, after)) for load, after in following]
        begun = largest(self.end, arrival)
        return Run(
            loads=(*middle, largest(self.end, until)),
            total=self.total + length,
            longest=largest(self.longest, length),
            arrival=largest(self.arrival, arrival),
            calls=self.calls + If(until > begun, until - begun, 0),
        )

    def ordered(self) -> BoolRef:
        pairs = zip(self.loads, self.loads[1:], strict=False)
        return And(self.loads[0] >= 0, self.longest >= 0, self.arrival >= 0, *(low <= high for low, high in pairs))


def empty(slots: int) -> Run:
    zero = IntVal(0)
    return Run((zero,) * slots, zero, zero, zero, zero)


def symbolic(slots: int, name: str = "") -> Run:
    numbers = (Int(f"{name}{field}") for field in ("total", "longest", "arrival", "calls"))
    return Run(tuple(Int(f"{name}load{i}") for i in range(slots)), *numbers)
