"""What is wrong with a call: the rows that it lacks, and those that it should not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from conformance.engine.causes import Cause, Fault
from conformance.engine.events import Call
from conformance.engine.ledger import Entry, Ledger, Settings
from conformance.workloads import Tokens


def judged(ledger: Ledger, settings: Settings, call: Call) -> list[Fault]:
    """The faults of a call; none where it has a row of each request that runs or enters, and no other."""
    if call.malformed:
        return [Fault("malformed rows", "a list of lists of ints", call.malformed)]
    if ledger.phase != "begun":
        when = "outside of a step" if ledger.phase == "idle" else "a second one in this step"
        return [Fault("needless call", "one call in a step", when)]
    required = ledger.required
    if (
        required
        and settings.dialect.batch == "compact"
        and sorted(entry.due for entry in required) == sorted(call.rows)
    ):
        return []
    missing, extra = _compared(ledger, call.rows)
    faults = extra_rows(ledger, settings, missing, extra)
    faults += absent_rows(ledger, missing)
    if not faults and not ledger.required:
        return [Fault("needless call", "no call, because nobody runs", f"a call with {len(call.rows)} rows")]
    if not faults and settings.dialect.batch == "padded" and len(call.rows) != settings.num_slots:
        return [Fault("call shape", f"{settings.num_slots} rows", f"{len(call.rows)} rows")]
    return faults


def none_made(ledger: Ledger, settings: Settings) -> list[Fault]:
    """The faults of a step that should have made a call and made none."""
    return absent_rows(ledger, list(ledger.required))


def crashed(ledger: Ledger, error: str) -> list[Fault]:
    """The fault of a step that raised what the model had not raised."""
    wanted = "a step that returns"
    for entry in (*ledger.required, *ledger.flight):
        cause = circumstance(ledger, entry)
        if cause is not None:
            return [Fault(cause, wanted, error, entry.request_id)]
    # A crash may concern those that just left, too.
    if ledger.failed is not None:
        return [Fault("lost after a failure", wanted, error)]
    if ledger.aborted:
        return [Fault("lost beside an abort", wanted, error, ledger.aborted[0].request_id)]
    return [Fault("crashed", wanted, error)]


def circumstance(ledger: Ledger, entry: Entry) -> Cause | None:
    """What happened just before, that may be why `entry` is not served as it should be."""
    if ledger.failed is not None and entry in ledger.failed:
        return "lost after a failure" if ledger.raised else "lost after an odd reply"
    if entry.refused:
        return "lost to a duplicate"
    if entry.again:
        return "lost as a newcomer"
    if entry.early:
        return "lost to an early abort"
    return "lost beside an abort" if any(other is not entry for other in ledger.aborted) else None


def _compared(ledger: Ledger, rows: Sequence[Tokens]) -> tuple[list[Entry], list[Tokens]]:
    """Give each required request a row that is its due prefix; who has none, and what rows are left."""
    left = Counter(rows)
    missing = []
    for entry in ledger.required:
        if left[entry.due]:
            left[entry.due] -= 1
        else:
            missing.append(entry)
    return missing, list(left.elements())


def extra_rows(ledger: Ledger, settings: Settings, missing: list[Entry], extra: list[Tokens]) -> list[Fault]:
    """The faults of rows that are nobody's due; each excuses one that is missing, and takes it off the list."""
    faults: list[Fault] = []
    padded = settings.dialect.batch == "padded"
    waiting = [entry for entry in ledger.waiting.values() if entry not in ledger.entering]
    for row in extra:
        late = next((entry for entry in waiting if entry.due == row), None)
        if padded and not missing and (late is None or len(ledger.required) == settings.num_slots):
            # What looks like a pad is one, unless somebody's row is not there.
            continue
        if late is not None:
            waiting.remove(late)
            faults += _jumped(ledger, settings, late, missing)
            continue
        fault = _of_the_past(ledger, row) or _of_the_present(ledger, row, missing)
        if fault is None and not padded:
            fault = Fault(_unknown(ledger, missing), _wanted(ledger), f"the row {list(row)}")
            _excuse(missing, None)
        faults += [fault] if fault else []
    return faults


def _jumped(ledger: Ledger, settings: Settings, late: Entry, missing: list[Entry]) -> list[Fault]:
    passed = next((entry for entry in missing if entry in ledger.entering), None)
    if passed is not None:
        missing.remove(passed)
        expected = f"{passed.request_id!r} to enter before {late.request_id!r}"
        return [
            Fault("jumped", expected, f"{late.request_id!r} entered, {passed.request_id!r} did not", passed.request_id)
        ]
    if missing:
        return []  # who runs was put out for a newcomer; that is said of the one that is missing
    expected = f"at most {settings.num_slots} rows, so that {late.request_id!r} waits"
    return [Fault("too many rows", expected, f"a row of {late.request_id!r} as well", late.request_id)]


def _of_the_past(ledger: Ledger, row: Tokens) -> Fault | None:
    """Find whether the row belongs to a request that is over."""
    for entry in ledger.all_past():
        if row != entry.due and not (entry.reason == "stop" and row == entry.due[:-1]):
            continue
        name = entry.request_id
        if entry.reason == "abort":
            return Fault("aborted row", f"no row of {name!r}, which was aborted", f"the row {list(row)}", name)
        why = "generated the stop token" if entry.reason == "stop" else "is at its limit"
        return Fault("finished row", f"no row of {name!r}, which {why}", f"the row {list(row)}", name)
    return None


def _of_the_present(ledger: Ledger, row: Tokens, missing: list[Entry]) -> Fault | None:
    """Find whether the row is a second one, or the bungled one, of a request that is live."""
    for entry in ledger.live.values():
        name = entry.request_id
        if not entry.limit and row == entry.prompt:
            return Fault("row of nothing", f"no row of {name!r}, which has nothing to generate", f"{list(row)}", name)
    for entry in ledger.required:
        if row == entry.due and entry not in missing:
            return Fault("row twice", f"one row of {entry.request_id!r}", "two", entry.request_id)
    for entry in missing:
        if entry.prompt and row[: len(entry.prompt)] == entry.prompt:
            missing.remove(entry)
            cause = circumstance(ledger, entry) or "wrong row"
            return Fault(cause, f"the row {list(entry.due)}", f"the row {list(row)}", entry.request_id)
    return None


def _unknown(ledger: Ledger, missing: list[Entry]) -> Cause:
    return next((cause for entry in missing if (cause := circumstance(ledger, entry))), "unknown row")


def _excuse(missing: list[Entry], entry: Entry | None) -> None:
    if missing:
        missing.remove(entry or missing[0])


def _wanted(ledger: Ledger) -> str:
    return f"rows of {', '.join(repr(entry.request_id) for entry in ledger.required) or 'nobody'} only"


def absent_rows(ledger: Ledger, missing: list[Entry]) -> list[Fault]:
    """The faults of absences: who ran and does not, and who should have entered and did not."""
    faults = []
    entering = [entry for entry in missing if entry in ledger.entering]
    seats = sum(entry.seated for entry in ledger.aborted)
    for entry in missing:
        name, cause = repr(entry.request_id), circumstance(ledger, entry)
        if entry not in ledger.entering:
            expected = f"a row of {name}, which has been admitted and has not finished"
            faults.append(Fault(cause or "not held", expected, "none", entry.request_id))
            continue
        if cause == "lost beside an abort" and seats >= len(entering):
            cause = "aborted seat"
        expected = f"a row of {name}, which waits, in a slot that is free"
        expected += " since an abort" if cause == "aborted seat" else ""
        faults.append(Fault(cause or "not admitted", expected, "none", entry.request_id))
    return faults
