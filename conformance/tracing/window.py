"""The few requests and calls around a fault, as a run of their own, for the invariants' own checks.

The checks take a whole run. All that they look at, where a run goes wrong, is the requests that are live or
have just ended, the call before, and what comes later of a few rows; so a run that has only these is judged
as the whole one is. `meta/test_traces.py` holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice

from conformance.attribution import Attribution, Ledger, Stranger, take
from conformance.catalogue import CATALOGUE
from conformance.history import Call, Ongoing, Outcome, Returned, Run
from conformance.invariant import Violation
from conformance.tracing.slots import Entry, Slots
from conformance.workloads import Ask, Fault, Tokens, Workload

PLAIN = [i for i in CATALOGUE.values() if "plain" in i.situations and i.name != "pad/constant"]


@dataclass
class Window:
    """A small run. `entries` are its requests, in the order of its workload."""

    entries: list[Entry]
    found: Attribution

    def ended(self, later: tuple[Call, ...], outcome: Outcome) -> Window:
        """The same, with what came later."""
        run = replace(self.found.run, calls=self.found.run.calls + later, outcome=outcome)
        found = Attribution(
            run, self.found.dialect, self.found.limits, self.found.owners, self.found.ledger, self.found.divergence
        )
        return Window(self.entries, found)

    def violations(self) -> dict[str, Violation]:
        """What the core's promises say of it."""
        out: dict[str, Violation] = {}
        for invariant in PLAIN:
            if not (invariant.at_end and not self.found.clean):
                violation = invariant.check(self.found)
                if violation is not None:
                    out[invariant.name] = violation
        return out

    def failure(self, kind: str, more: int = 0) -> Violation | None:
        """What failure/surfaces says, where the model raised behind these calls, and `more` calls were made then."""
        fault = Fault("raises", len(self.found.owners))
        calls = (*self.found.run.calls, Call((), None), *[Call((), ())] * more)
        run = replace(self.found.run, workload=replace(self.found.run.workload, fault=fault), calls=calls)
        found = Attribution(run, self.found.dialect, self.found.limits, self.found.owners, self.found.ledger, None)
        said = CATALOGUE["failure/surfaces"].check(found)
        return said and replace(said, expected=said.expected.replace("ModelFailure", kind))

    @property
    def missing(self) -> list[Entry]:
        """Who ran, and has no row in the diverging call, not even a wrong one."""
        split = self.found.divergence
        assert split is not None
        gone = [r for r in split.running if r not in split.seen and r not in split.claimed]
        excused = sum(s.request is None for s in split.strangers)
        return [self.entries[r] for r in gone[excused:]]

    @property
    def watched(self) -> set[Tokens]:
        """The rows whose coming back, or not, tells the causes of absences apart."""
        split = self.found.divergence
        assert split is not None
        absent = [self.entries[r] for r in split.required if r not in split.seen]
        return {entry.due for entry in absent} | {entry.prompt for entry in absent}

    def strangers(self) -> list[tuple[Stranger, Entry | None]]:
        """Each wrong row, with the request that it seems meant for: claimed, or else the next that has none."""
        split = self.found.divergence
        assert split is not None
        gone = [r for r in split.running if r not in split.seen and r not in split.claimed]
        out: list[tuple[Stranger, Entry | None]] = []
        for stranger in split.strangers:
            owner = stranger.request if stranger.request is not None else gone.pop(0) if gone else None
            out.append((stranger, None if owner is None else self.entries[owner]))
        return out


@dataclass
class Open:
    """A diverging call whose causes wait for the future: until `watched` have all come, or the run is over."""

    window: Window
    line: int
    place: int
    lanes: tuple[tuple[str, ...], ...]
    watched: set[Tokens] = field(default_factory=set)
    seen: list[Tokens] = field(default_factory=list)

    def look(self, rows: tuple[Tokens, ...]) -> bool:
        """Note which of the watched rows a later call has; true when none is left to watch."""
        for row in rows:
            if row in self.watched:
                self.watched.discard(row)
                self.seen.append(row)
        return not self.watched

    def decided(self, outcome: Outcome) -> dict[str, Violation]:
        later = (Call(tuple(self.seen), None),) if self.seen else ()
        return self.window.ended(later, outcome).violations()


def diverged(slots: Slots, call: Call) -> Window:
    """The window of a call that is not as it should be."""
    rows = list(call.rows)
    for entry in slots.over:
        if entry.due in rows:
            rows.remove(entry.due)
    called = call._replace(rows=tuple(rows), replies=(0,) * len(rows))
    window = _window(slots, called, Ongoing())
    reading = next(take(window.found, len(window.found.run.calls) - 1, called))
    return Window(window.entries, reading)


def ending(slots: Slots, outcome: Outcome, extra: list[tuple[str, Tokens]]) -> Window:
    """The window of the end. `extra` are the results that are not as they should be, or of nobody."""
    window = _window(slots, None, outcome)
    if isinstance(outcome, Returned) and not outcome.malformed:
        done = [e for e in window.entries if (e.reason or not e.limit) and e.request_id not in slots.owed]
        pairs = [(entry.request_id, slots.output(entry)) for entry in done]
        if not slots.keeps_results:
            pairs += [(entry.request_id, ()) for entry in window.entries if entry not in done]
        outcome = Returned((*pairs, *extra))
    return window.ended((), outcome)


def _window(slots: Slots, call: Call | None, outcome: Outcome) -> Window:
    wait = _waiting(slots, call)
    horizon = max((entry.number for entry in wait), default=-1) if call else 2**63
    zeros = [entry for entry in slots.zeros if entry.number < horizon or call is None or entry.due in call.rows]
    past = {e.number: e for e in (*slots.recent.values(), *(() if call else slots.owed.values()))}
    entries = sorted({*past.values(), *slots.running, *zeros, *wait}, key=lambda entry: entry.number)
    place = {entry: index for index, entry in enumerate(entries)}
    ledger = Ledger(
        [list(entry.generated) for entry in entries],
        [entry.due for entry in entries],
        [place[entry] for entry in slots.running],
        [place[entry] for entry in wait],
        {place[entry]: entry.reason for entry in past.values() if entry.reason},
        sorted(i for entry, i in place.items() if entry.limit and entry.number <= slots.last_admitted),
    )
    calls, owners = _earlier(slots, place)
    asks = tuple(Ask(entry.request_id, entry.prompt, entry.max_tokens) for entry in entries)
    workload = Workload(asks, max(0, slots.num_slots - len(slots.over)), slots.stop_token)
    run = Run(workload, (*calls, call) if call else tuple(calls), outcome)
    limits = [entry.limit for entry in entries]
    return Window(entries, Attribution(run, slots.dialect, limits, owners, ledger, None))


def _waiting(slots: Slots, call: Call | None) -> list[Entry]:
    """Those of the queue who matter: the first, who could enter, and whoever entered before them."""
    if call is None:
        return list(slots.waiting)
    count = slots.num_slots + 1 + len(call.rows)
    first = list(islice(slots.waiting, count))
    known = {entry.due for entry in (*slots.running, *first)}
    strange = {row for row in call.rows if row not in known}
    return first + [entry for entry in islice(slots.waiting, count, None) if strange and entry.due in strange]


def _earlier(slots: Slots, place: dict[Entry, int]) -> tuple[list[Call], list[tuple[int | None, ...]]]:
    """The call before, and in front of it one that has every pad row so far; none before the first call."""
    if slots.before is None:
        return [], []
    rows, owners, replies = slots.before
    count = max(len(slots.pads), len(slots.pad_replies)) if slots.pads else 0
    pads = [*slots.pads, *[*slots.pads][-1:] * count][:count]
    said = [*slots.pad_replies, *[*slots.pad_replies][-1:] * count][:count]
    calls = [Call(tuple(pads), tuple(said)), Call(rows, replies)]
    return calls, [(None,) * count, tuple(None if o is None else place.get(o) for o in owners)]
