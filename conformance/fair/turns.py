"""What is wrong with a call in which the wrong requests have their turn, or one resumes that should not so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from conformance.engine.calls import circumstance
from conformance.engine.causes import Fault
from conformance.engine.events import Call
from conformance.engine.ledger import Entry, Settings
from conformance.fair.ledger import FairLedger
from conformance.workloads import Tokens

OF_OUTPUTS = ("wrong token", "token twice", "token missing", "finish late", "finish early", "finish misnamed")
TurnCause = Literal["stayed", "put out", "not back", "out of line", "resumed wrong"]


@dataclass(frozen=True)
class TurnFault:
    """One thing that is wrong with the diverging event, and that only an engine with turns can do wrong."""

    cause: TurnCause
    expected: str
    observed: str
    request_id: str | None = None
    event: int = 0
    step: int = 0

    def at(self, event: int, step: int) -> TurnFault:
        return replace(self, event=event, step=step)


def judged(ledger: FairLedger, settings: Settings, call: Call) -> list[TurnFault]:
    """The faults of a call as to turns; what else may be wrong with it, the engine profile says."""
    if call.malformed or ledger.phase != "begun":
        return []
    required = ledger.required
    if sorted(entry.due for entry in required) == sorted(call.rows):
        return []
    left = Counter(call.rows)
    missing = []
    for entry in required:
        if left[entry.due]:
            left[entry.due] -= 1
        else:
            missing.append(entry)
    if settings.dialect.batch == "padded" and not missing:
        return []  # what is left over are pads
    extra = list(left.elements())
    faults = _stayed(ledger, missing, extra)
    faults += _out_of_line(ledger, missing, extra)
    faults += _resumed(ledger, missing, extra)
    return faults + _absent(ledger, missing)


def none_made(ledger: FairLedger) -> list[TurnFault]:
    """The faults of a step that should have made a call and made none."""
    return _absent(ledger, list(ledger.required))


def _stayed(ledger: FairLedger, missing: list[Entry], extra: list[Tokens]) -> list[TurnFault]:
    faults = []
    for entry in ledger.yielding:
        if entry.due not in extra:
            continue
        extra.remove(entry.due)
        newcomer = next((other for other in missing if other in ledger.entering), None)
        if newcomer is not None:
            missing.remove(newcomer)
        streak, whom = len(entry.generated) - ledger.had[entry.number], newcomer or ledger.entering[-1]
        expected = f"{entry.request_id!r} to make room for {whom.request_id!r}, after {streak} tokens in a row"
        faults.append(TurnFault("stayed", expected, f"a row of {entry.request_id!r}", entry.request_id))
    return faults


def _out_of_line(ledger: FairLedger, missing: list[Entry], extra: list[Tokens]) -> list[TurnFault]:
    """Of two that wait, one of whom has yielded before, the wrong one enters."""
    faults = []
    for late in [entry for entry in ledger.waiting.values() if entry not in ledger.entering]:
        passed = next((entry for entry in missing if entry in ledger.entering), None)
        if late.due not in extra or passed is None or not (ledger.resumes(late) or ledger.resumes(passed)):
            continue
        extra.remove(late.due)
        missing.remove(passed)
        expected = f"{passed.request_id!r} to enter before {late.request_id!r}"
        observed = f"{late.request_id!r} entered, {passed.request_id!r} did not"
        faults.append(TurnFault("out of line", expected, observed, passed.request_id))
    return faults


def _resumed(ledger: FairLedger, missing: list[Entry], extra: list[Tokens]) -> list[TurnFault]:
    """One that has yielded has a row, which is not its prefix."""
    faults = []
    for entry in [entry for entry in missing if ledger.resumes(entry)]:
        row = next((row for row in extra if _like(row, entry)), None)
        if row is not None:
            extra.remove(row)
            missing.remove(entry)
            wanted, got = f"the row {list(entry.due)}", f"the row {list(row)}"
            faults.append(TurnFault("resumed wrong", wanted, got, entry.request_id))
    return faults


def _like(row: Tokens, entry: Entry) -> bool:
    """Whether the row is made of this request's tokens, more or less."""
    begins = entry.prompt and row[: len(entry.prompt)] == entry.prompt
    return bool(begins or (row and entry.due[-len(row) :] == row))


def _absent(ledger: FairLedger, missing: Sequence[Entry]) -> list[TurnFault]:
    faults = []
    for entry in missing:
        name = repr(entry.request_id)
        if circumstance(ledger, entry) is not None:
            continue  # something has just happened to it: the engine profile's promises speak of that first
        if entry in ledger.entering and ledger.resumes(entry):
            expected = f"a row of {name}, which has yielded and is at the head of the queue"
            faults.append(TurnFault("not back", expected, "none", entry.request_id))
        elif entry not in ledger.entering:
            faults.append(TurnFault("put out", f"a row of {name}, {_why(ledger, entry)}", "none", entry.request_id))
    return faults


def _why(ledger: FairLedger, entry: Entry) -> str:
    streak = len(entry.generated) - ledger.had[entry.number]
    if ledger.settled:
        return "because the call that failed is to be made again"
    if streak < ledger.quantum:
        return f"which has had {streak} tokens in a row, and not {ledger.quantum}"
    if ledger.yielding:
        return "which entered after the one that has to yield"
    return "because nobody waits" if len(ledger.waiting) == len(ledger.entering) else "which runs"


def of_outputs(ledger: FairLedger, faults: Sequence[Fault]) -> list[TurnFault]:
    """Those faults of outputs that a request has which has yielded before, as what they are here."""
    resumed = {entry.request_id for entry in ledger.resuming}
    return [
        TurnFault("resumed wrong", fault.expected, fault.observed, fault.request_id)
        for fault in faults
        if fault.request_id in resumed and fault.cause in OF_OUTPUTS
    ]
