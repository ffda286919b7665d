"""What batching costs: theorems about the number of calls, by induction over any number of requests.

A run is a `schedule`: each request in turn goes to the slot that is free first. The number of slots is
fixed (`SLOTS`); the induction is over the requests, so their number has no bound.

Requests that arrive while others run are timed in *steps*: a step makes at most one call, and none
while nobody is there; `arrivals` never decrease. What fails, though it sounds right, is in
`counterexamples`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from z3 import And, ArithRef, Bool, BoolRef, If, Implies, Int, Ints, IntVal, Or, Sum, is_and

from reference.formal.obligation import Claim, Claims, Control, Obligation
from reference.formal.schedule import Run, empty, largest, symbolic

SLOTS = (1, 2, 3, 4, 6, 8)


# -- Induction ---------------------------------------------------------------------------------------

Take = Callable[[Run, ArithRef, ArithRef], Run]
Steps = Mapping[str, tuple[ArithRef, Take, Take]]
ZERO = IntVal(0)
LENGTH, SHORTER, ARRIVAL, EARLIER = Ints("length shorter arrival earlier")


def to_fullest(run: Run, length: ArithRef, arrival: ArithRef) -> Run:
    """Make the request wait for the slot that is free last."""
    until = largest(run.end, arrival) + length
    return replace(run.put(until, length, arrival), loads=(*run.loads[:-1], until))


def skip(run: Run, length: ArithRef, arrival: ArithRef) -> Run:
    """Leave the request out."""
    return replace(run, arrival=largest(run.arrival, arrival))


def induction(start: BoolRef, given: tuple[BoolRef, ...], step: BoolRef, end: Claim) -> Claims:
    return {"start": Claim((), start), "step": Claim(given, step), "end": end}


def bounds(n: int, take: Take = Run.take) -> Claims:
    def holds(run: Run) -> BoolRef:
        return And(run.ordered(), Sum(run.loads) == run.total, run.longest <= run.end)

    run = symbolic(n)
    end = Claim((holds(run),), And(run.longest <= run.end, run.total <= n * run.end))
    return induction(holds(empty(n)), (holds(run), LENGTH >= 1), holds(take(run, LENGTH, ZERO)), end)


def graham(n: int, take: Take = Run.take) -> Claims:
    def holds(run: Run) -> BoolRef:
        return And(run.ordered(), Sum(run.loads) == run.total, run.end - run.loads[0] <= run.longest)

    run = symbolic(n)
    end = Claim((holds(run),), n * run.end <= run.total + (n - 1) * run.longest)
    return induction(holds(empty(n)), (holds(run), LENGTH >= 1), holds(take(run, LENGTH, ZERO)), end)


# -- Against static batching -------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """A static server: its batch of `taken` requests began at `begin`, and the longest of them has `most` tokens."""

    begin: ArithRef
    most: ArithRef
    taken: ArithRef
    calls: ArithRef

    @property
    def end(self) -> ArithRef:
        return self.begin + self.most

    def covers(self, run: Run, size: int) -> BoolRef:
        """State that the slots the batch has not used yet are free when it begins, the others when it ends."""
        loads = [
            And(load <= self.end, Implies(i < run.slots - self.taken, load <= self.begin))
            for i, load in enumerate(run.loads)
        ]
        return And(run.ordered(), self.begin >= 0, self.most >= 0, self.taken >= 0, self.taken <= size, *loads)

    def take(self, length: ArithRef, closed: BoolRef, begin: ArithRef) -> Batch:
        """Serve one request more: in this batch, or where it is closed in the next, which begins at `begin`."""
        most = If(closed, length, largest(self.most, length))
        more = If(closed, length, most - self.most)
        return Batch(If(closed, begin, self.begin), most, If(closed, 1, self.taken + 1), self.calls + more)


NEXT, CLOSED = Int("next_begin"), Bool("closed")
UNBEGUN = Batch(ZERO, ZERO, ZERO, ZERO)


def symbolic_batch() -> Batch:
    return Batch(*Ints("begin most taken batch_calls"))


def static(n: int, size: int | None = None) -> Claims:
    """Follow both servers; a batch begins when the one before ends."""
    size, run, batch = size or n, symbolic(n), symbolic_batch()
    given = (batch.covers(run, size), batch.calls == batch.end, LENGTH >= 1)
    after, end = batch.take(LENGTH, batch.taken == size, batch.end), run.end <= batch.calls
    served = And(after.covers(run.take(LENGTH), size), after.calls == after.end, run.start() <= after.begin)
    return induction(UNBEGUN.covers(empty(n), size), given, served, Claim(given[:2], end))


def static_online(n: int, size: int | None = None) -> Claims:
    """Follow both servers; a batch is closed at any time, and begins at any time after its requests and the last."""
    size, run, batch = size or n, symbolic(n), symbolic_batch()
    after = batch.take(LENGTH, Or(batch.taken == size, CLOSED), NEXT)
    timing = And(batch.end <= NEXT, run.arrival <= ARRIVAL, after.begin >= ARRIVAL)
    served = And(after.covers(run.take(LENGTH, ARRIVAL), size), run.start(ARRIVAL) <= after.begin)
    end = Claim((batch.covers(run, size),), run.end <= batch.end)
    return induction(UNBEGUN.covers(empty(n), size), (batch.covers(run, size), LENGTH >= 1, timing), served, end)


def busy_after(server: Run | Batch, arrival: ArithRef) -> ArithRef:
    """Count the calls from a server's last arrival on."""
    return largest(server.end - arrival, ZERO)


def static_calls(n: int, begin: ArithRef | None = None) -> Claims:
    """Follow both servers; a batch takes whoever waits, and begins when it can."""

    def holds(run: Run, batch: Batch) -> BoolRef:
        before = run.calls - busy_after(run, run.arrival) <= batch.calls - busy_after(batch, run.arrival)
        return And(batch.covers(run, n), run.arrival <= batch.begin, before)

    run, batch = symbolic(n), symbolic_batch()
    earliest = largest(batch.end, ARRIVAL) if begin is None else begin
    after = batch.take(LENGTH, Or(batch.taken == n, batch.begin < ARRIVAL), earliest)
    timing = And(LENGTH >= 1, run.arrival <= ARRIVAL, earliest >= batch.end, earliest >= ARRIVAL)
    end = Claim((holds(run, batch),), run.calls <= batch.calls)
    given, served = (holds(run, batch), timing), holds(run.take(LENGTH, ARRIVAL), after)
    return induction(holds(empty(n), UNBEGUN), given, served, end)


# -- Monotony ----------------------------------------------------------------------------------------


def dominates(less: Run, more: Run) -> BoolRef:
    """State that `less` has every slot free no later than `more`, and made no more calls before the last arrival."""
    loads = And([low <= high for low, high in zip(less.loads, more.loads, strict=False)])
    calls = less.calls - busy_after(less, less.arrival) <= more.calls - busy_after(more, more.arrival)
    return And(less.ordered(), more.ordered(), loads, less.end <= more.end, less.arrival == more.arrival, calls)


def no_later(n: int, slots: int, steps: Steps, arrival: ArithRef) -> Claims:
    """Claim that a run with `slots` slots is nowhere behind one with n, whichever of `steps` each request takes."""
    less, more = symbolic(slots, "less "), symbolic(n, "more ")
    fewer = And(less.end <= more.end, less.calls <= more.calls)
    claims = {"start": Claim((), dominates(empty(slots), empty(n))), "end": Claim((dominates(less, more),), fewer)}
    timing = And(more.arrival <= arrival, SHORTER >= 1, SHORTER <= LENGTH)
    for name, (length, one, other) in steps.items():
        after = dominates(one(less, length, arrival), other(more, LENGTH, arrival))
        goal = And(after, less.start(arrival) <= more.start(arrival))
        claims[name] = Claim((dominates(less, more), timing), goal)
    return claims


SERVE: Steps = {"step": (LENGTH, Run.take, Run.take)}
SHORTEN: Steps = {"step": (SHORTER, Run.take, Run.take)}
LEAVE_OUT: Steps = {**SERVE, "left out": (LENGTH, skip, Run.take)}


def earlier(n: int, early: ArithRef = EARLIER) -> Claims:
    """Claim that where each request arrives no later, in the same order, each starts and ends no later."""

    def holds(less: Run, more: Run) -> BoolRef:
        loads = And([low <= high for low, high in zip(less.loads, more.loads, strict=True)])
        return And(less.ordered(), more.ordered(), loads)

    less, more = symbolic(n, "less "), symbolic(n, "more ")
    given = (holds(less, more), LENGTH >= 1, EARLIER <= ARRIVAL, less.arrival <= EARLIER, more.arrival <= ARRIVAL)
    after = holds(less.take(LENGTH, early), more.take(LENGTH, ARRIVAL))
    goal = And(after, less.start(early) <= more.start(ARRIVAL))
    return induction(holds(empty(n), empty(n)), given, goal, Claim((holds(less, more),), less.end <= more.end))


# -- Online ------------------------------------------------------------------------------------------


def left(run: Run) -> ArithRef:
    """Count the tokens that are still to generate when the last request arrives."""
    return Sum([largest(load - run.arrival, ZERO) for load in run.loads])


def online_bounds(n: int, take: Take = Run.take) -> Claims:
    def holds(run: Run) -> BoolRef:
        so_far = run.calls - busy_after(run, run.arrival)
        work = run.total <= n * so_far + left(run)
        return And(run.ordered(), work, so_far >= 0, run.longest <= run.calls, run.end - run.arrival <= run.calls)

    run = symbolic(n)
    end = Claim((holds(run),), And(run.longest <= run.calls, run.total <= n * run.calls))
    given = (holds(run), LENGTH >= 1, run.arrival <= ARRIVAL)
    return induction(holds(empty(n)), given, holds(take(run, LENGTH, ARRIVAL)), end)


def all_present(n: int, take: Take = Run.take) -> Claims:
    """Compare the same requests, all there at the start and as they arrive."""

    def holds(present: Run, run: Run) -> BoolRef:
        so_far = run.calls - busy_after(run, run.arrival)
        pairs = zip(present.loads, run.loads, strict=True)
        behind = And([low <= so_far + largest(high - run.arrival, ZERO) for low, high in pairs])
        return And(present.ordered(), run.ordered(), so_far >= 0, behind)

    present, run = symbolic(n, "present "), symbolic(n)
    given = (holds(present, run), LENGTH >= 1, run.arrival <= ARRIVAL)
    goal = holds(take(present, LENGTH, ZERO), run.take(LENGTH, ARRIVAL))
    return induction(holds(empty(n), empty(n)), given, goal, Claim(given[:1], present.end <= run.calls))


def wait(n: int, take: Take = Run.take, share: int | None = None) -> Claims:
    """Bound the wait by what is `left` of those before; and with it the end."""

    def holds(run: Run) -> BoolRef:
        latest = n * run.arrival + run.total + (n - 1) * run.longest
        return And(run.ordered(), left(run) <= run.total, n * run.end <= latest)

    run = symbolic(n)
    waited = (share or n) * (run.start(ARRIVAL) - ARRIVAL) <= run.total
    given = (holds(run), LENGTH >= 1, run.arrival <= ARRIVAL)
    end = Claim((holds(run),), n * run.end <= n * run.arrival + run.total + (n - 1) * run.longest)
    return induction(holds(empty(n)), given, And(waited, holds(take(run, LENGTH, ARRIVAL))), end)


def backlog(*, conserving: bool = True) -> Claims:
    """Follow the calls: `full` of them had somebody waiting beside them, `lean` had not; the number of slots is any."""
    slots, running, waiting, tokens, idle, full, lean = Ints("slots running waiting tokens idle full lean")

    def holds(tokens: ArithRef, idle: ArithRef, full: ArithRef, lean: ArithRef) -> BoolRef:
        work = And(slots * full + lean <= tokens, idle <= (slots - 1) * lean)
        return And(slots >= 1, lean >= 0, full >= 0, work, tokens + idle == slots * (full + lean))

    # What `safety/no-idle-slot` and `safety/call-needed` prove of every call.
    full_beside = Implies(waiting > 0, running == slots) if conserving else True
    call = And(running >= 1, running <= slots, waiting >= 0, full_beside)
    behind = If(waiting > 0, 1, 0)
    after = holds(tokens + running, idle + slots - running, full + behind, lean + 1 - behind)
    end = And(slots * full <= tokens, idle <= (slots - 1) * lean)
    before = holds(tokens, idle, full, lean)
    return {
        "start": Claim((slots >= 1,), holds(ZERO, ZERO, ZERO, ZERO)),
        "step": Claim((before, call), after),
        "end": Claim((before,), end),
    }


# -- The theorems ------------------------------------------------------------------------------------


def two_tokens(run: Run, length: ArithRef, arrival: ArithRef) -> Run:
    """Let the first call of the request give it two tokens."""
    return run.put(run.start(arrival) + length - 1, length, arrival)


Broken = tuple[str, Callable[[], Claims]]


def theorem(name: str, statement: str, claims: Callable[[int], Claims], *controls: Broken) -> Obligation:
    """Make a theorem of the claims for each number of slots; a control is a broken copy, refuted in its step."""

    def everywhere() -> Claims:
        return {f"{n} slots, {part}": claim for n in SLOTS for part, claim in claims(n).items()}

    arrivals = "arriving at any time" if name.startswith("online/") else "all present at the start"
    scope = f"any number of requests, {arrivals}; num_slots in {SLOTS}"
    broken = (tighter(partial(claims, 2)), *map(control, controls))
    return Obligation(name, statement, scope, "z3, induction over the requests", everywhere, broken)


def control(broken: Broken) -> Control:
    fault, claims = broken
    return Control(fault, lambda: claims()["step"])


def tighter(claims: Callable[[], Claims]) -> Control:
    """Claim that at the end one of the inequalities is strict."""

    def claim() -> Claim:
        end = claims()["end"]
        inequalities = end.goal.children() if is_and(end.goal) else [end.goal]
        return Claim(end.given, Or([part.arg(0) < part.arg(1) for part in inequalities]))

    return Control("a strict inequality at the end", claim)


ADD: Steps = {"step": (LENGTH, Run.take, skip)}
LENGTHEN: Steps = {"step": (LENGTH + 1, Run.take, Run.take)}


def monotone(prefix: str, arrival: ArithRef) -> tuple[Obligation, ...]:
    """Make the three theorems that less work, or more room, never costs anything."""
    what = "no request starts later, and no more calls are made"
    return (
        theorem(
            f"{prefix}/one-slot-more", f"With one slot more, {what}.",
            lambda n: no_later(n, n + 1, SERVE, arrival),
            ("one slot less", lambda: no_later(3, 2, SERVE, arrival)),
        ),
        theorem(
            f"{prefix}/shorter-requests", f"Where some requests are shorter, {what}.",
            lambda n: no_later(n, n, SHORTEN, arrival),
            ("a request is longer", lambda: no_later(2, 2, LENGTHEN, arrival)),
        ),
        theorem(
            f"{prefix}/fewer-requests", f"Where some requests are left out, {what}.",
            lambda n: no_later(n, n, LEAVE_OUT, arrival),
            ("a request is added", lambda: no_later(2, 2, ADD, arrival)),
        ),
    )  # fmt: skip


# fmt: off
THEOREMS = (
    theorem(
        "costs/bounds", "max(longest, ceil(total / num_slots)) <= calls.", bounds,
        ("a call gives a request two tokens", partial(bounds, 2, two_tokens)),
    ),
    theorem(
        "costs/graham", "num_slots * calls <= total + (num_slots - 1) * longest.", graham,
        ("a request waits for the slot that is free last", partial(graham, 2, to_fullest)),
    ),
    theorem(
        "costs/static", "Static batches of num_slots requests, in the same order, need no fewer calls.", static,
        ("static batches of one request more", partial(static, 2, 3)),
    ),
    *monotone("costs", ZERO),
    theorem(
        "online/bounds", "max(longest, ceil(total / num_slots)) <= calls.", online_bounds,
        ("a call gives a request two tokens", partial(online_bounds, 2, two_tokens)),
    ),
    theorem(
        "online/wait", "num_slots * wait <= tokens of all requests before it; and num_slots * end <= "
        "num_slots * last arrival + total + (num_slots - 1) * longest.", wait,
        ("a request waits for the slot that is free last", partial(wait, 2, to_fullest)),
        ("a slot more shares the work", partial(wait, 2, share=3)),
    ),
    Obligation(
        "online/backlog", "num_slots * (calls with a request waiting) <= tokens; "
        "idle slot-steps of calls <= (num_slots - 1) * (calls with none waiting).",
        "any number of requests, arriving at any time; any number of slots", "z3, induction over the calls", backlog,
        (tighter(backlog), control(("a slot is idle beside a waiting request", partial(backlog, conserving=False)))),
    ),
    *monotone("online", ARRIVAL),
    theorem(
        "online/earlier-arrivals", "Where requests arrive no later, in the same order, none starts or ends later.",
        earlier,
        ("a request arrives later", partial(earlier, 2, ARRIVAL + 1)),
    ),
    theorem(
        "online/all-present", "The same requests, all present at the start, need no more calls.", all_present,
        ("a request waits for the slot that is free last", partial(all_present, 2, to_fullest)),
    ),
    theorem(
        "online/static", "Whenever a static server begins its batches, none of its requests starts or ends earlier.",
        static_online, ("static batches of one request more", partial(static_online, 2, 3)),
    ),
    theorem(
        "online/static-calls", "A static server that begins as soon as it can with who waits needs no fewer calls.",
        static_calls, ("a batch may begin later", partial(static_calls, 2, NEXT)),
    ),
)
# fmt: on
