"""The calls of a run as columns, the slots as lanes: the picture that all reports draw.

A slot is the place that a request keeps from its admission to its finish; which one it gets is free,
so the lowest is drawn.
"""

from __future__ import annotations

from conformance.attribution import Attribution, Divergence
from conformance.grading.schema import Picture
from conformance.invariant import Violation

MAX_CALLS, MAX_LANES = 24, 16


def picture(found: Attribution, violation: Violation) -> Picture | None:
    """Draw the calls up to the offending one; None where no call was made."""
    calls = len(found.run.calls)
    if not calls:
        return None
    columns = _columns(found)
    last = min(violation.call, len(columns) - 1)
    slots = max(found.run.workload.num_slots, *map(len, columns), 1)
    lanes, tokens = _seated(columns, slots)
    at_call = violation.call if violation.call < len(columns) else None
    slot = None if at_call is None else _offending(found, violation, [lane[at_call] for lane in lanes])
    first = max(0, last + 1 - MAX_CALLS)
    shown = slice(first, last + 1)
    return Picture(
        [lane[shown] for lane in lanes[:MAX_LANES]],
        [lane[shown] for lane in tokens[:MAX_LANES]],
        first + 1,
        None if at_call is None else at_call + 1,
        slot if slot is not None and slot < MAX_LANES else None,
        _note(found, at_call),
        max(0, slots - MAX_LANES),
    )


def _columns(found: Attribution) -> list[dict[int, int | None]]:
    """For each call up to the diverging one, its requests, each with the reply to its row."""
    columns: list[dict[int, int | None]] = []
    for owners, call in zip(found.owners, found.run.calls, strict=False):
        replies = call.replies if call.replies and len(call.replies) == len(owners) else [None] * len(owners)
        columns.append({o: reply for o, reply in zip(owners, replies, strict=True) if o is not None})
    split = found.divergence
    if split is not None:
        columns.append(_diverging(found, split))
    return columns or [{}]


def _diverging(found: Attribution, split: Divergence) -> dict[int, int | None]:
    call = found.run.calls[split.call]
    column: dict[int, int | None] = dict.fromkeys(sorted({*split.seen, *(split.claimed & set(split.running))}))
    meant = {stranger.row: stranger.request for stranger in split.strangers}
    due = {found.ledger.due[request]: request for request in split.seen}
    for row, reply in zip(call.rows, call.replies or (), strict=False):
        owner = due.get(row, meant.get(row))
        if owner in column:
            column[owner] = reply
    return column


def _seated(columns: list[dict[int, int | None]], slots: int) -> tuple[list[list[int | None]], list[list[int | None]]]:
    lanes: list[list[int | None]] = [[] for _ in range(min(slots, 1000))]
    tokens: list[list[int | None]] = [[] for _ in lanes]
    seat: dict[int, int] = {}
    for column in columns:
        seat = {request: place for request, place in seat.items() if request in column}
        for request in sorted(column.keys() - seat.keys()):
            seat[request] = next(place for place in range(slots) if place not in seat.values())
        taken = {place: request for request, place in seat.items()}
        for place, lane in enumerate(lanes):
            occupant = taken.get(place)
            lane.append(occupant)
            tokens[place].append(None if occupant is None else column[occupant])
    return lanes, tokens


def _offending(found: Attribution, violation: Violation, column: list[int | None]) -> int | None:
    """The lane of the request that it is about; where that one has none, the idle one that it should have."""
    if violation.request is not None and violation.request in column:
        return column.index(violation.request)
    split = found.divergence
    absent = split is not None and split.call == violation.call and len(split.seen) < len(split.required)
    return column.index(None) if absent and None in column else None


def _note(found: Attribution, call: int | None) -> str:
    split = found.divergence
    if call is None:
        return "wrong at the end"
    if split is None or split.call != call:
        return "here"
    if found.run.calls[call].malformed:
        return found.run.calls[call].malformed
    waiting = [r for r in split.entering if r not in split.seen]
    idle = found.run.workload.num_slots - split.size
    if split.strangers:
        return f"here, the row {_short(split.strangers[0].row)}"
    if idle > 0 and waiting:
        return f"idle while {found.names(waiting)} {'waits' if len(waiting) == 1 else 'wait'}"
    gone = [r for r in split.running if r not in split.seen]
    return f"no row of {found.names(gone)}" if gone else "here"


def _short(row: tuple[int, ...]) -> str:
    return str(list(row)) if len(row) <= 8 else f"[{', '.join(map(str, row[:6]))}, ... {len(row)} tokens]"
