"""What a wrong forward did to the cache, row by row; a row that the core can name is left to the core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.cached.attribution import CachedAttribution, Slip
from conformance.cached.history import Forward, Lines, Reset, outside
from conformance.history import Returned
from conformance.workloads import Tokens


def reset_slip(op: Reset, index: int, num_slots: int) -> Slip:
    """Say what is wrong with the slot of a reset before forward `index`."""
    if op.malformed:
        return Slip("shape", index, "a reset of a slot, which is an int", op.malformed)
    return Slip("range", index, f"a reset of a slot from 0 to {num_slots - 1}", f"a reset of slot {op.slot}")


def find_slips(
    found: CachedAttribution, index: int, forward: Forward, lines: Lines, known: Sequence[int | None]
) -> Iterator[Slip]:
    """Yield the slips of the first wrong forward. `known` is the owner of each row that is right."""
    num_slots = found.run.workload.num_slots
    if forward.malformed:
        yield Slip("shape", index, "a list of (slot, new tokens) tuples", forward.malformed)
    slots = [slot for slot, _ in forward.rows]
    for slot in slots:
        if outside(slot, num_slots):
            yield Slip("range", index, f"slots from 0 to {num_slots - 1}", f"a row for slot {slot}")
            return
    for slot in slots:
        if slots.count(slot) > 1:
            rows = " and ".join(str(list(new)) for other, new in forward.rows if other == slot)
            yield Slip("twice", index, f"one row for slot {slot}", f"the rows {rows}", found.held.get(slot))
            return
    for (slot, new), owner in zip(forward.rows, known, strict=True):
        if owner is None:
            line = lines.get(slot, ())
            held = slot in found.held
            slip = _in_progress(found, index, slot, line, new) if held else _free(found, index, slot, line, new)
            if slip is not None:
                yield slip
    yield from abandoned(found, index)


def abandoned(found: CachedAttribution, index: int) -> Iterator[Slip]:
    """Yield the requests that were taken for finished before their prompts were all sent, from forward `index` on."""
    if not isinstance(found.run.outcome, Returned):
        return
    for slot, request in found.held.items():
        prompt, written = found.run.workload.asks[request].prompt, found.written[slot]
        if written < len(prompt) and not found.ledger.generated[request] and not _goes_on(found, index, slot):
            wanted = f"{list(prompt[written:])} for slot {slot}, the rest of the prompt of {found.name(request)}"
            yield Slip("step", index, wanted, f"the reply to {list(prompt[:written])} was taken for its token", request)


def _goes_on(found: CachedAttribution, index: int, slot: int) -> bool:
    """Whether the line of `slot` gets another row, from forward `index` on, before it is emptied."""
    count = 0
    for op in found.cached.ops:
        if isinstance(op, Reset):
            if count >= index and op.slot == slot:
                return False
            continue
        if count >= index and any(other == slot for other, _ in op.rows):
            return True
        count += 1
    return False


def _in_progress(found: CachedAttribution, index: int, slot: int, line: Tokens, new: Tokens) -> Slip | None:
    request = found.held[slot]
    due, written, name = found.ledger.due[request], found.written[slot], found.name(request)
    # A lone stop token begins prompts too, and is more often a reply that went astray.
    newcomer = None if new == (found.run.workload.stop_token,) else _newcomer(found, new)
    restarted = bool(found.ledger.generated[request]) and new == found.run.workload.asks[request].prompt
    if len(line) != written:
        if newcomer is not None or restarted:
            return None  # the slot was given away, or the request begun again, on a line that is clean
        wanted = f"the line of slot {slot} to hold {list(due[:written])} of {name}, which is in progress"
        return Slip("step", index, wanted, f"it was emptied, and {list(new)} written", request)
    if not new:
        return _nothing(index, slot, f"{list(due[written:])}, which the line of {name} lacks")
    if _crossed(found, index, request, new):
        return None
    if newcomer is not None:
        return _stale(found, index, slot, line, newcomer) if line else None
    wanted = f"{list(due[written:])} for slot {slot}, because its line holds {list(line)} of {name}"
    return Slip("step", index, wanted, f"{list(new)}", request)


def _free(found: CachedAttribution, index: int, slot: int, line: Tokens, new: Tokens) -> Slip | None:
    before, newcomer = found.last.get(slot), _newcomer(found, new)
    if not new and (newcomer is None if line else all(ask.prompt for ask in found.run.workload.asks)):
        return _nothing(index, slot, f"no row for slot {slot}, which is free, or the prompt of a request that enters")
    if not line or (before is not None and line + new == found.ledger.due[before]):
        return None  # who is served here, or served on, is the core's question
    if index and before in found.owners[-1] and _another_reply(found, index, new):
        return None
    return _stale(found, index, slot, line, newcomer)


def _nothing(index: int, slot: int, wanted: str) -> Slip:
    return Slip("nothing", index, wanted, f"a row for slot {slot} without new tokens")


def _stale(found: CachedAttribution, index: int, slot: int, line: Tokens, newcomer: int | None) -> Slip:
    before = found.last.get(slot)
    who = "a request" if newcomer is None else found.name(newcomer)
    whose = "an earlier run" if before is None else found.name(before)
    state = ", which is in progress" if slot in found.held else ""
    wanted = f"the line of slot {slot} to be empty when {who} enters"
    return Slip("stale", index, wanted, f"it holds {list(line)} of {whose}{state}", newcomer)


def _newcomer(found: CachedAttribution, new: Tokens) -> int | None:
    """The first waiting request whose prompt `new` is, or begins."""
    return next((r for r in found.ledger.waiting if found.begins(r, new)), None)


def _crossed(found: CachedAttribution, index: int, request: int, new: Tokens) -> bool:
    """Whether the new token is another row's reply of the forward before."""
    return bool(found.ledger.generated[request]) and _another_reply(found, index, new)


def _another_reply(found: CachedAttribution, index: int, new: Tokens) -> bool:
    return index > 0 and len(new) == 1 and new[0] in (found.run.calls[index - 1].replies or ())
