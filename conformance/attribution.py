"""Whose row is whose: every row of a run is given to a request, once, here, and all invariants read the result.

A request's *due prefix* is its prompt and everything generated for it so far. A row that equals a
request's due prefix is its row. The first call whose rows are not those of the requests that should
be in it is the *divergence*: what comes after it depends on it, so nothing later is attributed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations, product
from typing import Literal

from conformance.history import Call, Returned, Run
from conformance.workloads import Tokens
from reference.vocabulary import Dialect

StrangerKind = Literal["again", "restart", "after finish", "nothing to do", "crossed", "unknown"]
MAX_LEDGERS = 64  # equal rows with different replies multiply explanations; small runs stay far below


@dataclass
class Ledger:
    """Where every request stands after the calls so far; requests are indices into the workload."""

    generated: list[list[int]]
    due: list[Tokens]
    running: list[int]
    waiting: list[int]
    finished: dict[int, str] = field(default_factory=dict)
    admitted: list[int] = field(default_factory=list)

    def copy(self) -> Ledger:
        return Ledger(
            [list(tokens) for tokens in self.generated],
            list(self.due),
            list(self.running),
            list(self.waiting),
            dict(self.finished),
            list(self.admitted),
        )

    def due_to_enter(self, num_slots: int) -> list[int]:
        return self.waiting[: max(0, num_slots - len(self.running))]


@dataclass(frozen=True)
class Stranger:
    """A row of the diverging call that is nobody's due prefix. `request` is the one it seems meant for."""

    row: Tokens
    kind: StrangerKind
    request: int | None = None


@dataclass(frozen=True)
class Divergence:
    """The first call that is not as it should be, `call` counted from 0.

    `running` should be in it because they were in the call before, `entering` because a slot is free
    for them; `seen` had a row. `size` counts the real rows.
    """

    call: int
    running: tuple[int, ...]
    entering: tuple[int, ...]
    seen: tuple[int, ...]
    strangers: tuple[Stranger, ...]
    size: int

    @property
    def required(self) -> tuple[int, ...]:
        return self.running + self.entering

    @property
    def claimed(self) -> set[int]:
        """Requests that did get a row, though a wrong one."""
        return {s.request for s in self.strangers if s.request is not None}


@dataclass
class Attribution:
    """A run with the owner of every row of its clean calls, and the divergence where there is one.

    `owners[k][i]` is the request of row i of call k, None for a pad row. `ledger` is the state
    after the clean calls.
    """

    run: Run
    dialect: Dialect
    limits: list[int]
    owners: list[tuple[int | None, ...]]
    ledger: Ledger
    divergence: Divergence | None

    @property
    def clean(self) -> bool:
        """All calls are as they should be, up to a failure of the model if it had one."""
        return self.divergence is None

    @cached_property
    def failed(self) -> int | None:
        """The call in which the model raised, or answered with a wrong number of tokens."""
        for index, call in enumerate(self.run.calls):
            if call.replies is None or len(call.replies) != len(call.rows):
                return index
        return None

    @cached_property
    def outputs(self) -> dict[str, list[int]]:
        """What should be returned."""
        stop = self.run.workload.stop_token
        return {
            ask.request_id: self.dialect.output(tokens, stop)
            for ask, tokens in zip(self.run.workload.asks, self.ledger.generated, strict=True)
        }

    @cached_property
    def unfinished(self) -> list[int]:
        return [*self.ledger.running, *self.ledger.waiting]

    @cached_property
    def conforms(self) -> bool:
        """A plain run without any fault; the invariants need not be asked. (`meta/` tests that they agree.)"""
        run = self.run
        if not self.clean or self.unfinished or run.inputs_changed or run.rows_changed:
            return False
        outcome = run.outcome
        if not isinstance(outcome, Returned) or outcome.malformed or len(outcome.pairs) != len(self.outputs):
            return False
        wanted = self.outputs
        return all(list(tokens) == wanted.get(key) for key, tokens in outcome.pairs)

    def name(self, request: int) -> str:
        return repr(self.run.workload.asks[request].request_id)

    def names(self, requests: Sequence[int]) -> str:
        return ", ".join(map(self.name, requests)) or "none"


def attribute(run: Run, dialect: Dialect) -> Attribution:
    """Give every row its request. Where equal rows got different replies, keep the reading that explains most."""
    frontier = [_begin(run, dialect)]
    for index, call in enumerate(run.calls):
        after: list[Attribution] = []
        for reading in frontier:
            after += take(reading, index, call)
        survivors = [reading for reading in after if reading.clean]
        if not survivors:
            return after[0]
        frontier = survivors[:MAX_LEDGERS]
        if call.replies is None or len(call.replies) != len(call.rows):
            break
    return next((reading for reading in frontier if reading.conforms), frontier[0])


def _begin(run: Run, dialect: Dialect) -> Attribution:
    asks, limits = run.workload.asks, run.workload.limits(dialect)
    waiting = [index for index, limit in enumerate(limits) if limit]
    ledger = Ledger([[] for _ in asks], [ask.prompt for ask in asks], [], waiting)
    return Attribution(run, dialect, limits, [], ledger, None)


def take(reading: Attribution, index: int, call: Call) -> Iterator[Attribution]:
    """Yield what `reading` becomes with one more call: diverged, or one reading for each way to share the replies."""
    ledger, num_slots = reading.ledger, reading.run.workload.num_slots
    entering = ledger.due_to_enter(num_slots)
    required = ledger.running + entering
    owners = _owners(call, [(ledger.due[request], request) for request in required])
    padded = reading.dialect.batch == "padded"
    size_right = len(call.rows) == (num_slots if padded else len(required))
    if call.malformed or not required or not size_right or sum(o is not None for o in owners) != len(required):
        yield diverged(reading, index, call, entering, owners)
        return
    if call.replies is None or len(call.replies) != len(call.rows):
        reading.owners.append(owners)
        yield reading
        return
    shares = list(shares_of(call, owners))
    for shared in shares:
        after = reading
        if len(shares) > 1:
            after = Attribution(reading.run, reading.dialect, reading.limits, list(reading.owners), ledger.copy(), None)
        _advance(after, entering, call.replies, shared)
        yield after


def _owners(call: Call, due: list[tuple[Tokens, int]]) -> tuple[int | None, ...]:
    free: dict[Tokens, list[int]] = {}
    for prefix, request in due:
        free.setdefault(prefix, []).append(request)
    owners: list[int | None] = []
    for row in call.rows:
        candidates = free.get(row)
        owners.append(candidates.pop(0) if candidates else None)
    return tuple(owners)


def shares_of(call: Call, owners: tuple[int | None, ...]) -> Iterator[tuple[int | None, ...]]:
    """Yield each way to give equal rows to their requests that makes a difference, that is, by distinct replies."""
    assert call.replies is not None
    groups: dict[Tokens, list[int]] = {}
    for position, row in enumerate(call.rows):
        groups.setdefault(row, []).append(position)
    unclear = [g for g in groups.values() if len(g) > 1 and len({call.replies[p] for p in g}) > 1]
    if not unclear:
        yield owners
        return
    orders = [[dict(zip(g, order, strict=True)) for order in permutations(owners[p] for p in g)] for g in unclear]
    seen = set()
    for chosen in product(*orders):
        moved = {position: owner for part in chosen for position, owner in part.items()}
        shared = tuple(moved.get(p, owner) for p, owner in enumerate(owners))
        given = frozenset((o, call.replies[p]) for p, o in enumerate(shared) if o is not None)
        if given not in seen:
            seen.add(given)
            yield shared


def _advance(reading: Attribution, entering: list[int], replies: Tokens, owners: tuple[int | None, ...]) -> None:
    ledger, stop, limits = reading.ledger, reading.run.workload.stop_token, reading.limits
    ledger.waiting = ledger.waiting[len(entering) :] if entering else ledger.waiting
    ledger.running += entering
    ledger.admitted += entering
    reading.owners.append(owners)
    for token, request in zip(replies, owners, strict=True):
        if request is None:
            continue
        generated = ledger.generated[request]
        generated.append(token)
        ledger.due[request] = (*ledger.due[request], token)
        if token == stop or len(generated) == limits[request]:
            ledger.finished[request] = "stop" if token == stop else "length"
            ledger.running.remove(request)


# -- The divergence, taken apart -------------------------------------------------------------------------


def diverged(
    reading: Attribution, index: int, call: Call, entering: list[int], owners: tuple[int | None, ...]
) -> Attribution:
    """Take the diverging call apart: who had a row, and what the rows are that are nobody's."""
    ledger, padded = reading.ledger, reading.dialect.batch == "padded"
    seen = [owner for owner in owners if owner is not None]
    late = [request for request in ledger.waiting if request not in seen]
    wanting = len(ledger.running) + len(entering) - len(seen)
    strangers: list[Stranger] = []
    for row, owner in zip(call.rows, owners, strict=True):
        jumped = next((r for r in late if ledger.due[r] == row), None)
        if owner is not None:
            continue
        if jumped is not None:
            late.remove(jumped)
            seen.append(jumped)
        elif not padded or not seen or len(strangers) < wanting:
            stranger = _stranger(reading, index, row, seen)
            if not (padded and stranger.kind == "unknown" and _pad_like(reading, call, row)):
                strangers.append(stranger)
    size = len(seen) + len(strangers)
    reading.divergence = Divergence(index, tuple(ledger.running), tuple(entering), tuple(seen), tuple(strangers), size)
    return reading


def _pad_like(reading: Attribution, call: Call, row: Tokens) -> bool:
    """Whether a row of a padded batch was a pad before, or is one by its looks: it stands in this call twice."""
    before = any(
        owner is None and old == row
        for owners, earlier in zip(reading.owners, reading.run.calls, strict=False)
        for owner, old in zip(owners, earlier.rows, strict=True)
    )
    return before or len(row) <= 1 or call.rows.count(row) > 1


def _stranger(reading: Attribution, index: int, row: Tokens, seen: list[int]) -> Stranger:
    """Say what a row that is nobody's due prefix seems to be; the first kind that fits."""
    ledger, asks = reading.ledger, reading.run.workload.asks
    before = reading.owners[-1] if reading.owners else ()
    for request, reason in ledger.finished.items():
        due = ledger.due[request]
        if request in before and (row == due or (reason == "stop" and row == due[:-1])):
            return Stranger(row, "after finish", request)
    missing = [r for r in ledger.running if r not in seen]
    for request in (*missing, *(r for r in before if r is not None and r in ledger.finished)):
        if _crossed(reading, index, row, request):
            return Stranger(row, "crossed", request)
    for request in (*missing, *ledger.finished, *ledger.running):
        if row == asks[request].prompt or (request in ledger.finished and row == ledger.due[request]):
            return Stranger(row, "restart", request)
    for request, limit in enumerate(reading.limits):
        if not limit and row == asks[request].prompt:
            return Stranger(row, "nothing to do", request)
    for request in seen:
        if row == ledger.due[request]:
            return Stranger(row, "again", request)
    return Stranger(row, "unknown")


def _crossed(reading: Attribution, index: int, row: Tokens, request: int) -> bool:
    """Whether `row` is what `request` would be due, had it been given another row's reply of the call before."""
    if not index or not row or row[:-1] != reading.ledger.due[request][:-1]:
        return False
    return row[-1] in (reading.run.calls[index - 1].replies or ())
