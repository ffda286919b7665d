"""The bridge for the quantum: the policy as a plain program, beside its encoding for z3, and its bound attained.

The program has lists where the encoding has functions, and shares nothing with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement, product
from math import ceil

from z3 import ArithRef, BoolRef, BoolVal, If, IntVal, is_true, simplify

from conformance.proving.agreement import STOP, Compared, compare
from conformance.proving.recursion import Ledger
from reference.fair import Engine
from reference.formal import fair_system, system
from reference.formal.counterexamples import Case
from reference.formal.fair_system import Fair
from reference.formal.system import Flag, Index
from reference.vocabulary import Request

Held = tuple[int, int, int]  # request, tokens in a row, when it entered
NEVER = -1  # the stop token of a language model that never says it
SCOPE = tuple(product((1, 2, 3), (1, 2, 3)))  # slots, quantum


@dataclass
class Policy:
    """A scheduler whose requests have `lengths`, of which `done` tokens are there."""

    slots: list[Held | None]
    quantum: int
    lengths: tuple[int, ...]
    waiting: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    clock: int = 0

    def enter(self, slot: int) -> None:
        self.slots[slot] = (self.waiting.pop(0), 0, self.clock)
        self.clock += 1

    def fill(self) -> None:
        for slot, held in enumerate(self.slots):
            if held is None and self.waiting:
                self.enter(slot)

    def turns(self) -> list[int]:
        """The slots that have to yield, in order; the free ones have been filled."""
        due = [(held[2], slot) for slot, held in enumerate(self.slots) if held and held[1] >= self.quantum]
        return [slot for _, slot in sorted(due)][: len(self.waiting)]

    def give_way(self, slot: int) -> None:
        held = self.slots[slot]
        assert held is not None
        self.waiting.append(held[0])
        self.enter(slot)

    def call(self) -> None:
        """Give each running request a token; the full ones leave."""
        for slot, held in enumerate(self.slots):
            if held is not None:
                request, streak, since = held
                self.done[request] += 1
                full = self.done[request] == self.lengths[request]
                self.slots[slot] = None if full else (request, streak + 1, since)

    @property
    def running(self) -> list[int]:
        return [held[0] for held in self.slots if held]


def begun(case: Case, quantum: int) -> Policy:
    return Policy([None] * case.slots, quantum, case.lengths, done=[0] * len(case.lengths))


def waits(case: Case, quantum: int, *, yielding: bool = True) -> Iterator[tuple[int, int]]:
    """Yield for each request how many waited ahead of it at its arrival, and in which call after it first ran."""
    policy, ahead, arrived, first = begun(case, quantum), dict[int, int](), dict[int, int](), dict[int, int]()
    step, last = 0, len(case.lengths)
    while len(first) < last:
        for request, arrival in enumerate(case.arrivals):
            if arrival == step:
                ahead[request], arrived[request] = len(policy.waiting), step
                policy.waiting.append(request)
        policy.fill()
        for slot in policy.turns() if yielding else ():
            policy.give_way(slot)
        for request in policy.running:
            first.setdefault(request, step)
        policy.call()
        step += 1
    # A step with a request in it has a call, and who waits is never alone: so calls are steps here.
    yield from ((ahead[request], first[request] - arrived[request] + 1) for request in first)


def rows_of_policy(case: Case, quantum: int) -> list[list[int]]:
    """Say which requests are in each call that the program makes."""
    policy, step, calls = begun(case, quantum), 0, list[list[int]]()
    while any(done < length for done, length in zip(policy.done, case.lengths, strict=True)):
        policy.waiting += [r for r, arrival in enumerate(case.arrivals) if arrival == step]
        policy.fill()
        for slot in policy.turns():
            policy.give_way(slot)
        calls += [sorted(policy.running)] if policy.running else []
        policy.call()
        step += 1
    return calls


def rows_of_engine(case: Case, quantum: int) -> list[list[int]]:
    """Say which requests are in each call that the engine of the reference makes."""
    model, step = Ledger(), 0
    engine = Engine(model, case.slots, STOP, quantum=quantum)
    while step <= max(case.arrivals) or engine.has_unfinished_requests():
        for request, arrival in enumerate(case.arrivals):
            if arrival == step:
                engine.add_request(Request(str(request), [request], case.lengths[request]))
        engine.step()
        step += 1
    return [sorted(rows) for rows in model.calls]


def compare_engine(*, more: int = 0) -> Compared:
    """Compare who is in each call, in cases of 3 and 4 requests."""
    return compare(
        ("case", rows_of_policy(case, quantum + more) == rows_of_engine(case, quantum), (case, quantum))
        for slots, quantum in SCOPE
        for lengths in (*product((1, 2, 3), repeat=3), *product((1, 3), repeat=4))
        for arrivals in combinations_with_replacement(range(3), len(lengths))
        for case in [Case(slots, lengths, arrivals)]
    )


def compare_bound(*, yielding: bool = True, less: int = 0, scope: Sequence[tuple[int, int]] = SCOPE) -> Compared:
    """Compare the calls until a request first runs with its bound, in every case of 4 requests of up to 3 tokens."""
    return compare(_bounds(scope, yielding, less))


def _bounds(scope: Sequence[tuple[int, int]], yielding: bool, less: int) -> Iterator[tuple[str, bool, object]]:
    for slots, quantum in scope:
        for lengths in product((1, 2, 3), repeat=4):
            for arrivals in combinations_with_replacement(range(3), 4):
                case = Case(slots, lengths, arrivals)
                for ahead, call in waits(case, quantum, yielding=yielding):
                    yield "wait", call <= ceil((ahead + 1) / slots) * quantum - less, (case, quantum, ahead, call)


# -- The encoding, on concrete states ----------------------------------------------------------------


def table(values: list[int]) -> Index:
    """Make a function of numbers; -1 outside of them."""

    def at(x: ArithRef) -> ArithRef:
        term = IntVal(-1)
        for i, value in enumerate(values):
            term = If(x == i, IntVal(value), term)
        return term

    return at


def flags(values: list[bool]) -> Flag:
    numbers = table([int(value) for value in values])
    return lambda x: numbers(x) == 1


def encode(policy: Policy, *, cursor: int, until: int) -> tuple[system.Problem, Fair]:
    """Write a state of the program as functions."""
    requests = range(len(policy.lengths))
    held = [slot or (-1, 0, 0) for slot in policy.slots]
    homes, waiting, nothing = [h[0] for h in held], list(policy.waiting), table([])
    count = max(len(policy.lengths), len(policy.slots), 1)
    problem = system.Problem(
        num_slots=IntVal(len(held)), stop_token=IntVal(NEVER), limit=table(list(policy.lengths)),
        prompt_size=nothing, prompt=lambda r, i: IntVal(0), bound=count,
    )  # fmt: skip
    state = system.State(
        count=IntVal(len(requests)), front=IntVal(0), back=IntVal(len(waiting)), cursor=IntVal(cursor),
        queue=table(waiting), slot=table(homes), size=table(list(policy.done)), token=lambda r, i: IntVal(0),
        finished=flags([policy.done[r] == policy.lengths[r] for r in requests]), aborted=lambda r: BoolVal(False),
        line_size=nothing, line=lambda s, i: IntVal(0),
        home=table([homes.index(r) if r in homes else -1 for r in requests]),
        place=table([waiting.index(r) if r in waiting else -1 for r in requests]),
    )  # fmt: skip
    return problem, Fair(
        state=state, quantum=IntVal(policy.quantum), streak=table([h[1] for h in held]),
        since=table([h[2] for h in held]), clock=IntVal(policy.clock), until=IntVal(until), entry=nothing,
        latest=IntVal(-1), mine=IntVal(-1), calls=IntVal(0), turns=nothing, sums=nothing, quotas=nothing,
    )  # fmt: skip


def seen(fair: Fair, slots: int, requests: int) -> tuple[list[Held | None], list[int]]:
    """Read the slots and the queue of an encoded state."""

    def number(term: ArithRef) -> int:
        return int(simplify(term).as_long())

    state, places = fair.state, [IntVal(s) for s in range(slots)]
    held = [number(state.slot(s)) for s in places]
    entered = [number(fair.since(s)) for s in places]
    front, back = number(state.front), number(state.back)
    rows: list[Held | None] = [
        None if r < 0 else (r, number(fair.streak(s)), since) for r, s, since in zip(held, places, entered, strict=True)
    ]
    return rows, [number(state.queue(IntVal(i))) for i in range(front, back)]


def true(term: BoolRef) -> bool:
    return bool(is_true(simplify(term)))


def compare_policy() -> Compared:
    """Compare the encoded policy with the program: who enters, whose turn it is to yield, and what a call leaves."""
    return compare(result for case, quantum in policy_cases() for result in _lockstep(case, quantum))


def compare_newest_first() -> Compared:
    """Compare with an encoding in which, of those due, the last to enter yields first; two slots show it."""
    pairs = ((case, quantum) for case, quantum in policy_cases() if (case.slots, quantum) == (2, 1))
    return compare(result for case, quantum in pairs for result in _lockstep(case, quantum, newest_first=True))


def policy_cases() -> Iterator[tuple[Case, int]]:
    for slots, quantum in ((1, 1), (2, 1), (2, 2), (3, 1)):
        for lengths in ((3, 2, 1), (1, 3, 2, 3), (3, 3, 3, 1)):
            yield Case(slots, lengths, (0,) * len(lengths)), quantum
            yield Case(slots, lengths, tuple(range(len(lengths)))), quantum


def _lockstep(case: Case, quantum: int, newest_first: bool = False) -> Iterator[tuple[str, bool, object]]:
    policy, step, shape = begun(case, quantum), 0, (case.slots, len(case.lengths))
    while any(done < length for done, length in zip(policy.done, case.lengths, strict=True)):
        policy.waiting += [r for r, arrival in enumerate(case.arrivals) if arrival == step]
        yield "admit", *_filled(policy, shape)
        until = len(policy.waiting)
        for slot in policy.turns():
            yield "yields", *_turn(policy, slot, until, newest_first)
            yield "exchange", *_given_way(policy, slot, until, shape)
            until -= 1
        yield "advance", *_called(policy, until, shape)
        step += 1


def _filled(policy: Policy, shape: tuple[int, int]) -> tuple[bool, object]:
    problem, fair = encode(policy, cursor=0, until=0)
    before = replace(policy, slots=list(policy.slots), waiting=list(policy.waiting))
    for _ in policy.slots:
        fair = fair_system.admit(problem, fair)
    policy.fill()
    marked = true(fair.until == fair.state.back)
    rows, queue = seen(fair, *shape)
    # The encoding's clock ticks for every slot that is looked at, the program's for every entry.
    return marked and (_order(rows), queue) == (_order(policy.slots), policy.waiting), before


def _turn(policy: Policy, slot: int, until: int, newest_first: bool) -> tuple[bool, object]:
    problem, fair = encode(policy, cursor=len(policy.slots), until=until)
    if newest_first:
        since = fair.since
        fair = replace(fair, since=lambda s: -since(s))
    turns = [s for s in range(len(policy.slots)) if true(fair_system.yields(problem, fair, IntVal(s)))]
    return turns == [slot] and not true(fair_system.ready(problem, fair)), policy


def _given_way(policy: Policy, slot: int, until: int, shape: tuple[int, int]) -> tuple[bool, object]:
    problem, fair = encode(policy, cursor=len(policy.slots), until=until)
    rows, queue = seen(fair_system.exchange(problem, fair, IntVal(slot)), *shape)
    policy.give_way(slot)
    return (_order(rows), queue) == (_order(policy.slots), policy.waiting), policy


def _called(policy: Policy, until: int, shape: tuple[int, int]) -> tuple[bool, object]:
    problem, fair = encode(policy, cursor=len(policy.slots), until=until)
    ready = true(fair_system.ready(problem, fair))
    rows, queue = seen(fair_system.advance(problem, fair, lambda r: IntVal(0)), *shape)
    policy.call()
    return ready and (rows, queue) == (policy.slots, policy.waiting), policy


def _order(rows: list[Held | None]) -> list[Held | None]:
    """Keep of when a request entered only who entered before whom."""
    entered = sorted(row[2] for row in rows if row)
    return [(row[0], row[1], entered.index(row[2])) if row else None for row in rows]
