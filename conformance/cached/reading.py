"""Whose row is whose, where rows are pieces: every forward of a cached run is given to its requests, once, here.

A *reading* says which request holds which slot, and how much of its prefix is written in the line. A
row of a held slot is right if it goes on where the line ends: with the next piece of the prompt, or,
once the prompt is written, with the last generated token. Only the reply to a row that completes the
prefix counts. Newcomers may take any free slot, so the acceptor keeps a set of readings.

What comes out is a core `Attribution` of the recovered rows, so that the core's invariants read it as
they read any other, and beside it the *slips*: what the first forward that is not right did to the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.attribution import Ledger, diverged
from conformance.cached.attribution import CachedAttribution
from conformance.cached.history import CachedRun, Forward, Lines, Reset, Row, outside, recovered, replayed
from conformance.cached.slips import abandoned, find_slips, reset_slip
from conformance.history import Returned, Run
from conformance.workloads import Tokens
from reference.vocabulary import Dialect

MAX_READINGS = 1024  # six slots whose newcomers cannot be told apart make 720


def attribute(run: CachedRun, dialect: Dialect) -> CachedAttribution:
    """Read a run. Where newcomers cannot be told apart, keep every reading until the run tells."""
    frontier, index, failed = [_begin(run, recovered(run), dialect)], 0, False
    for op, lines in replayed(run):
        if isinstance(op, Reset):
            if op.malformed or outside(op.slot, run.workload.num_slots):
                frontier[0].slips = (reset_slip(op, index, run.workload.num_slots),)
                return frontier[0]
            continue
        if failed:
            break
        after = [taken for reading in frontier for taken in _take(reading, index, op, lines)]
        survivors = [reading for reading in after if reading.clean]
        if not survivors:
            return after[0]
        frontier = survivors[:MAX_READINGS]
        failed, index = not op.answered, index + 1
    for reading in frontier:
        _tell_apart(reading)
    best = next((reading for reading in frontier if reading.conforms), frontier[0])
    best.slips = tuple(abandoned(best, index))
    return best


def _begin(cached: CachedRun, run: Run, dialect: Dialect) -> CachedAttribution:
    asks, limits = run.workload.asks, run.workload.limits(dialect)
    waiting = [index for index, limit in enumerate(limits) if limit]
    ledger = Ledger([[] for _ in asks], [ask.prompt for ask in asks], [], waiting)
    return CachedAttribution(run, dialect, limits, [], ledger, None, cached)


def _take(reading: CachedAttribution, index: int, forward: Forward, lines: Lines) -> Iterator[CachedAttribution]:
    """Yield what `reading` becomes with one more forward: diverged, or one reading for each seating of newcomers."""
    entering = reading.ledger.due_to_enter(reading.run.workload.num_slots)
    known = [_continues(reading, slot, new, lines) for slot, new in forward.rows]
    newcomers = [row for row in forward.rows if row[0] not in reading.held]
    rows_right = not reading.run.calls[index].malformed and len(known) - known.count(None) == len(reading.held)
    seatings: list[tuple[int, ...]] = []
    if rows_right and forward.rows and len(newcomers) == len(entering):
        seatings = list(_seatings(reading, entering, newcomers, lines))
    if not seatings:
        yield _gone_wrong(reading, index, forward, lines, known)
        return
    for seated in seatings:
        after = reading if len(seatings) == 1 else reading.branch()
        rest = iter(seated)
        owners = [owner if owner is not None else next(rest) for owner in known]
        if forward.answered:
            _advance(after, forward, owners, seated)
        else:
            after.owners.append(tuple(owners))
        yield after


def _continues(reading: CachedAttribution, slot: int, new: Tokens, lines: Lines) -> int | None:
    """The request that holds `slot`, if the row goes on where its line ends."""
    request = reading.held.get(slot)
    if request is None or not new:
        return None
    line, due = lines.get(slot, ()), reading.ledger.due[request]
    seen = line + new
    if len(line) != reading.written[slot] or seen != due[: len(seen)]:
        return None
    # After the first generated token the whole prefix but that token is written, so the row completes it.
    return request


def _seatings(
    reading: CachedAttribution, entering: Sequence[int], newcomers: Sequence[Row], lines: Lines
) -> Iterator[tuple[int, ...]]:
    """Yield each way to give the newcomers' rows to those who enter; requests that are alike are not told apart."""
    if not newcomers:
        yield ()
        return
    (slot, new), *rest = newcomers
    tried = set()
    for request in entering:
        kind = (reading.run.workload.asks[request].prompt, reading.limits[request])
        if kind in tried or lines.get(slot) or not reading.begins(request, new):
            continue
        tried.add(kind)
        for others in _seatings(reading, [r for r in entering if r != request], rest, lines):
            yield (request, *others)


def _advance(reading: CachedAttribution, forward: Forward, owners: list[int], seated: tuple[int, ...]) -> None:
    ledger, stop = reading.ledger, reading.run.workload.stop_token
    entering = sorted(seated)
    ledger.waiting = ledger.waiting[len(entering) :]
    ledger.running += entering
    ledger.admitted += entering
    reading.entered.append(tuple(entering))
    reading.owners.append(tuple(owners))
    for (slot, new), request, token in zip(forward.rows, owners, forward.replies or (), strict=True):
        reading.held[slot] = reading.last[slot] = request
        reading.written[slot] = reading.written.get(slot, 0) + len(new)
        if reading.written[slot] < len(ledger.due[request]):
            continue  # a piece of the prompt; its reply is nobody's
        ledger.generated[request].append(token)
        ledger.due[request] = (*ledger.due[request], token)
        if token == stop or len(ledger.generated[request]) == reading.limits[request]:
            ledger.finished[request] = "stop" if token == stop else "length"
            ledger.running.remove(request)
            del reading.held[slot], reading.written[slot]


def _gone_wrong(
    reading: CachedAttribution, index: int, forward: Forward, lines: Lines, known: list[int | None]
) -> CachedAttribution:
    """Say what is not right: as slips of the cache, and as the core's divergence."""
    entering = reading.ledger.due_to_enter(reading.run.workload.num_slots)
    reading.slips = tuple(find_slips(reading, index, forward, lines, known))
    owners, free = list(known), list(entering)
    for position, (slot, new) in enumerate(forward.rows):
        if owners[position] is not None or lines.get(slot):
            continue
        for request in free:
            if reading.begins(request, new):
                owners[position] = request
                free.remove(request)
                break
        else:
            _due_as_sent(reading, new)
    call = reading.run.calls[index]
    diverged(reading, index, call, entering, tuple(owners) if call.rows else ())
    return reading


def _due_as_sent(reading: CachedAttribution, new: Tokens) -> None:
    """Let the core recognise a piece of a prompt as a row of the request that jumped the queue with it."""
    for request in reading.ledger.waiting:
        if new and reading.begins(request, new) and reading.ledger.due[request] != new:
            reading.ledger.due[request] = new
            return


def _tell_apart(reading: CachedAttribution) -> None:
    """Name requests that are alike, and entered together, so that what was returned fits if it can."""
    outcome = reading.run.outcome
    if not isinstance(outcome, Returned):
        return
    returned, ledger, stop = dict(outcome.pairs), reading.ledger, reading.run.workload.stop_token
    for alike in _alike(reading):
        streams = {r: (ledger.generated[r], ledger.due[r], ledger.finished[r]) for r in alike}
        left, chosen = list(alike), {}
        for request in alike:
            wanted = returned.get(reading.run.workload.asks[request].request_id)
            fits = [r for r in left if tuple(reading.dialect.output(streams[r][0], stop)) == wanted]
            if fits:
                chosen[request] = fits[0]
                left.remove(fits[0])
        for request in alike:
            taken = chosen[request] if request in chosen else left.pop(0)
            ledger.generated[request], ledger.due[request], ledger.finished[request] = streams[taken]


def _alike(reading: CachedAttribution) -> Iterator[list[int]]:
    for entered in reading.entered:
        groups: dict[tuple[Tokens, int], list[int]] = {}
        for request in entered:
            kind = (reading.run.workload.asks[request].prompt, reading.limits[request])
            groups.setdefault(kind, []).append(request)
        for group in groups.values():
            streams = {tuple(reading.ledger.generated[r]) for r in group}
            if len(streams) > 1 and all(r in reading.ledger.finished for r in group):
                yield group
