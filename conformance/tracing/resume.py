"""Go on behind a fault: the ledger takes what the engine did for what it should have done, as far as can be told."""

from __future__ import annotations

from conformance.engine.events import Abort, Call, Event, Output, Raise, Return, Submit
from conformance.engine.ledger import Entry, Ledger
from conformance.engine.reading import Reading
from conformance.workloads import Tokens

ENDLESS = 2**62


def resume(reading: Reading, event: Event) -> None:
    """Forget the fault of `event`, which was the last one fed, and make it have happened."""
    ledger = reading.ledger
    reading.faults = []
    match event:
        case Submit() if not event.error and event.request_id not in ledger.live:
            ledger.submit(event.request_id, event.prompt, reading.settings.limit(event.prompt, event.max_tokens))
        case Abort():
            entry = ledger.live.get(event.request_id)
            if entry is not None:
                ledger.abort(entry)
        case Call():
            _called(ledger, event)
        case Return():
            _returned(reading, event)
        case Raise():
            ledger.surface()
            ledger.failed = None


def _called(ledger: Ledger, event: Call) -> None:
    """Whoever has a row runs, and nobody else gets a token."""
    rows = list(event.rows)
    seen = [entry for entry in (*ledger.running, *ledger.waiting.values()) if _take(rows, entry.due)]
    seen += _bungled(ledger, seen, rows) + _revived(ledger, rows)
    ledger.entering = [entry for entry in seen if entry.status == "waiting"]
    ledger.ask(event.rows)
    ledger.flight = [entry for entry in ledger.running if entry in seen]


def _take(rows: list[Tokens], row: Tokens) -> bool:
    if row in rows:
        rows.remove(row)
        return True
    return False


def _bungled(ledger: Ledger, seen: list[Entry], rows: list[Tokens]) -> list[Entry]:
    """Who runs and has a row that begins as it should: that is its prefix from now on."""
    out = []
    for entry in ledger.running:
        row = next((row for row in rows if entry.prompt and row[: len(entry.prompt)] == entry.prompt), None)
        if entry not in seen and row is not None:
            rows.remove(row)
            entry.due = row
            out.append(entry)
    return out


def _revived(ledger: Ledger, rows: list[Tokens]) -> list[Entry]:
    """Who is over and has a row all the same runs again, until the engine ends it."""
    out = []
    for row in rows:
        past = next((e for e in ledger.all_past() if e.due == row and e.reason in ("stop", "length")), None)
        if past is not None and past.request_id not in ledger.live:
            out.append(_revive(ledger, past))
    return out


def _revive(ledger: Ledger, entry: Entry) -> Entry:
    entry.status, entry.reason, entry.limit = "running", None, ENDLESS
    ledger.live[entry.request_id] = entry
    ledger.running.append(entry)
    return entry


def _returned(reading: Reading, event: Return) -> None:
    ledger = reading.ledger
    flight = list(ledger.flight)
    if ledger.phase == "failed":
        ledger.surface()
    elif ledger.phase == "answered" or not ledger.required:
        ledger.deliver(reading.settings, event.outputs)
    else:
        ledger._over()
    for output in event.outputs:
        _follow(ledger, output, flight)


def _follow(ledger: Ledger, output: Output, flight: list[Entry]) -> None:
    """Who was said to have ended has; who was given a token, and not said to have ended, goes on."""
    entry, past = ledger.live.get(output.request_id), ledger.past(output.request_id)
    if entry is not None and output.finish_reason is not None:
        ledger.waiting.pop(entry.number, None)
        ledger.pending.pop(entry.number, None)
        if entry in ledger.running:
            ledger.running.remove(entry)
        ledger._end(entry, output.finish_reason)
    goes_on = entry is None and output.finish_reason is None
    if goes_on and past is not None and past in flight and past.reason != "abort":
        _revive(ledger, past)
