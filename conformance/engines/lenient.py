"""The reader for engines with declared deviations: the settled semantics, loosened where the adapter says so.

With nothing declared it accepts what the strict reader accepts. The causes of its faults are those of the
strict one, so that the invariants of the engine profile judge its readings unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from conformance.engine import calls, outputs
from conformance.engine.causes import Cause, Fault
from conformance.engine.events import Call, Event, History, Output, Reply, Return, Unfinished
from conformance.engine.ledger import Entry, Ledger, Settings
from conformance.engine.reading import HANDLERS, Reading
from conformance.engines.book import Book
from conformance.engines.weaker import Slack
from conformance.workloads import Tokens
from reference.vocabulary import Dialect


@dataclass
class Lenient(Reading):
    """A reading with slack; `ledger` is a `Book`."""

    ledger: Ledger = field(default_factory=Book)
    slack: Slack = field(default_factory=Slack)
    idle_says: int = 0

    @property
    def book(self) -> Book:
        assert isinstance(self.ledger, Book)
        return self.ledger

    def feed(self, event: Event) -> bool:
        if self.faults:
            return False
        handler = LOOSENED.get(type(event)) or HANDLERS[type(event)]
        faults = handler(self, event)
        if faults:
            self.faults = [fault.at(self.events, self.steps) for fault in faults]
        self.events += 1
        return not faults


def reader(history: History, dialect: Dialect, slack: Slack) -> Lenient:
    """A reading of this history that has read nothing yet."""
    settings = Settings(history.num_slots, history.stop_token, dialect)
    return Lenient(settings, history.situation, history.changed, slack=slack)


def read(history: History, dialect: Dialect, slack: Slack) -> Lenient:
    """Read a history, or up to what no declared deviation explains."""
    reading = reader(history, dialect, slack)
    for event in history.events:
        if not reading.feed(event):
            break
    return reading


# -- Calls -----------------------------------------------------------------------------------------------


def _call(reading: Lenient, event: Call) -> list[Fault]:
    book, settings, slack = reading.book, reading.settings, reading.slack
    if event.malformed or book.phase not in ("begun", "answered"):
        return calls.judged(book, settings, event)
    if not slack.allows("calls", book.calls + 1):
        return [Fault("needless call", f"at most {slack.bound('calls')} calls in a step", f"call {book.calls + 1}")]
    owners, extra, beginnings = _owners(reading, event.rows)
    mine = [entry for entry in owners if entry is not None]
    faults = _overtaken(reading, mine)
    missing = [entry for entry in book.due if entry.number not in book.served and entry.status != "ending"]
    faults = faults or _ended_rows(book, extra) or calls.extra_rows(book, settings, missing, extra)
    if not faults and not event.rows:
        faults = [Fault("needless call", "rows in every call", "none")]
    if not faults and len(book.running) > settings.num_slots:
        late = book.running[-1]
        faults = [Fault("too many rows", f"at most {settings.num_slots}", f"{late.request_id!r} too", late.request_id)]
    if not faults and slack.bound("calls") == 1:
        faults = _lacking(reading)
    if not faults:
        book.asked(event.rows, [None if entry in beginnings else entry for entry in owners])
        reading.note(several_rows=len(mine) > 1, a_row_with_output=any(entry.generated for entry in mine))
    return faults


def _owners(reading: Lenient, rows: Iterable[Tokens]) -> tuple[list[Entry | None], list[Tokens], list[Entry]]:
    """Give every row to a request; what rows are left over, and whose rows are beginnings of a prompt only."""
    book, taken = reading.book, set[int]()
    owners: list[Entry | None] = []
    extra: list[Tokens] = []
    beginnings: list[Entry] = []
    for row in rows:
        candidates = [e for e in (*book.running, *book.waiting.values()) if e.number not in taken and e.limit]
        exact = next((entry for entry in candidates if entry.due == row), None)
        begun = None if exact else next((entry for entry in candidates if _begins(reading, entry, row)), None)
        entry = exact or begun or book.undone(row)
        if entry is None and not _in_vain(reading, row):
            extra.append(row)
        owners.append(entry)
        if entry is not None:
            taken.add(entry.number)
            book.seat(entry)
            book.served.add(entry.number)
            beginnings += [entry] if begun else []
    return owners, extra, beginnings


def _begins(reading: Lenient, entry: Entry, row: Tokens) -> bool:
    """Whether the row is a chunk of a prompt, and chunks are declared."""
    is_chunk = not entry.generated and len(row) < len(entry.prompt) and entry.prompt[: len(row)] == row
    return is_chunk and reading.slack.allows("chunks", 1)


def _in_vain(reading: Lenient, row: Tokens) -> bool:
    """Whether the row is of a request that is over, and such rows are declared."""
    book = reading.book
    for entry in (*book.finishing, *book.pending.values(), *book.all_past()):
        account = book.account(entry)
        if entry.reason == "abort" and row in (entry.due, account.flown) and row is not None:
            if reading.slack.allows("aborted", account.cut + 1):
                account.cut += 1
                book.vain.append((account, "cut"))
                account.flown = account.flown or entry.due
                return True
            continue
        over = entry.reason in ("stop", "length") and row == entry.due and entry.limit
        if over and reading.slack.allows("ahead", account.ahead + 1):
            account.ahead += 1
            book.vain.append((account, "ahead"))
            return True
    return False


def _ended_rows(book: Book, extra: Iterable[Tokens]) -> list[Fault]:
    """The faults of rows of those who are over: the strict reader knows of those only whose ending was told."""
    faults = []
    for row in extra:
        for entry in (*book.finishing, *book.pending.values()):
            if entry.limit and row in (entry.due, book.account(entry).flown):
                name = entry.request_id
                cause: Cause = "aborted row" if entry.reason == "abort" else "finished row"
                faults.append(Fault(cause, f"no row of {name!r}, which is over", f"the row {list(row)}", name))
                break
    return faults


def _overtaken(reading: Lenient, mine: Iterable[Entry]) -> list[Fault]:
    """The faults of those who wait longer than one who entered, and were overtaken in more steps than declared."""
    book, faults = reading.book, list[Fault]()
    newest = max((entry.number for entry in mine if not entry.generated), default=-1)
    for passed in [entry for entry in book.waiting.values() if entry.number < newest]:
        book.account(passed).overtaken.add(reading.steps)
        if not reading.slack.allows("overtaken", len(book.account(passed).overtaken)):
            name = passed.request_id
            faults.append(Fault("jumped", f"{name!r} to enter first", "a later one entered", name))
    return faults[:1]


def _lacking(reading: Lenient) -> list[Fault]:
    """The faults of those who had no row in this step for longer than is declared."""
    book, faults = reading.book, list[Fault]()
    for entry in book.due:
        account = book.account(entry)
        if entry.status not in ("running", "waiting"):
            continue
        if entry.number in book.served:
            account.lacked = account.passed = 0
            continue
        waits = entry.status == "waiting"
        account.passed, account.lacked = account.passed + waits, account.lacked + (not waits)
        allowed = reading.slack.allows(*(("wait", account.passed) if waits else ("lack", account.lacked)))
        faults += [] if allowed else calls.absent_rows(book, [entry])
    return faults


# -- Replies and outputs ---------------------------------------------------------------------------------


def _reply(reading: Lenient, event: Reply) -> list[Fault]:
    book = reading.book
    if event.tokens is None or len(event.tokens) != len(book.rows):
        due = any(entry.due_now for entry in book.pending.values())
        reading.note(failed_call=True, failed_call_with_endings_due=due)
        book.fail(raised=event.tokens is None)
    else:
        book.replied(reading.settings, event.tokens)
    return []


def _return(reading: Lenient, event: Return) -> list[Fault]:
    book = reading.book
    if book.phase == "failed":
        wanted = "the model's exception to reach the caller" if book.raised else "an error, for a reply of wrong length"
        return [Fault("swallowed" if book.raised else "odd reply taken", wanted, "a step that returned")]
    if event.malformed:
        return [Fault("malformed outputs", "a list of step outputs", event.malformed)]
    late = book.phase == "begun" or reading.slack.bound("calls") > 1
    faults = _lacking(reading) if late else []
    reading.note(a_token=bool(book.flight), **_endings(event))
    matched: list[Output] = []
    for output in event.outputs:
        faults = faults or _output(reading, output, matched)
    faults = faults or _overdue(reading)
    if not faults:
        book.returned()
    return faults


def _endings(event: Return) -> dict[str, bool]:
    reasons = {output.finish_reason for output in event.outputs}
    return {"ends_as_length": "length" in reasons, "ends_as_abort": "abort" in reasons}


def _output(reading: Lenient, got: Output, matched: list[Output]) -> list[Fault]:
    """Take one output for the next thing to be told of its request, or say what is wrong with it."""
    book, settings = reading.book, reading.settings
    entry = book.open_with(got.request_id)
    wanted = None if entry is None else book.next_output(entry, settings)
    if entry is None or wanted is None:
        return outputs.surplus(book, got, matched)
    account = book.account(entry)
    if got == wanted:
        reading.note(stop_at_the_limit=got.finish_reason == "stop" and len(entry.generated) == entry.limit)
        account.emitted += not (account.untold or entry.number in book.pending)
        if got.finish_reason:
            book.told(entry)
    elif entry.reason == "abort" and got == Output(got.request_id, None, account.natural) and account.natural:
        book.told(entry)  # it had finished when it was aborted
    elif wanted.finish_reason and got == wanted._replace(finish_reason=None) and got.token is not None:
        if not reading.slack.allows("ending", 1):
            return outputs.altered(book, outputs.Owed(entry, wanted, True), got)
        account.emitted, account.untold, account.told_at = account.emitted + 1, True, book.round
    else:
        return _neither(reading, entry, wanted, got)
    matched.append(got)
    return []


def _neither(reading: Lenient, entry: Entry, wanted: Output, got: Output) -> list[Fault]:
    """The fault of an output that is not the next one of its id's oldest request."""
    book = reading.book
    newer = [other for other in book.open_entries() if other.request_id == got.request_id and other is not entry]
    if any(book.next_output(other, reading.settings) == got for other in newer):
        expected = f"the ending of the old {got.request_id!r} before anything of the new one"
        return [Fault("ending out of order", expected, "it came later", got.request_id)]
    return outputs.altered(book, outputs.Owed(entry, wanted, True), got)


def _overdue(reading: Lenient) -> list[Fault]:
    """The faults of tokens and endings that were not told in time."""
    book, slack, faults = reading.book, reading.slack, list[Fault]()
    for entry in (*book.running, *book.finishing):
        account, wanted = book.account(entry), book.next_output(entry, reading.settings)
        if wanted is None:
            continue
        kind, since = ("ending", account.told_at) if account.untold else ("late", account.made[account.emitted])
        if not slack.allows(kind, book.round - since + 1):
            faults.append(outputs.absent(book, outputs.Owed(entry, wanted, True)))
    for entry in book.pending.values():
        account = book.account(entry)
        account.lacked = account.lacked + 1 if entry.due_now else 0
        if not slack.allows("ending", account.lacked):
            owed = outputs.Owed(entry, Output(entry.request_id, None, entry.reason), True)
            faults.append(outputs.absent(book, owed))
    return faults


def _unfinished(reading: Lenient, event: Unfinished) -> list[Fault]:
    open_ones = reading.book.open_names()
    if not event.value or open_ones:
        reading.idle_says = 0
        return HANDLERS[Unfinished](reading, event)
    reading.idle_says += 1
    return [] if reading.slack.allows("busy", reading.idle_says) else HANDLERS[Unfinished](reading, event)


LOOSENED: dict[type, Callable[[Any, Any], list[Fault]]] = {
    Call: _call,
    Reply: _reply,
    Return: _return,
    Unfinished: _unfinished,
}
