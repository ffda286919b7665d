"""Whose row and whose output is whose: a history is read once, here, and all invariants look at the result.

The reader follows the events as the settled semantics has them. The first event that is not as it should
be is the *divergence*; it gets one or more `Fault`s, each with a cause that one invariant owns. What comes
after it depends on it, so nothing later is judged. The reader keeps what is live and a little of the
recent past, never the history, so it can follow a trace of any length: `feed` it one event at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from conformance.engine import calls, outputs
from conformance.engine.causes import Fault
from conformance.engine.events import (
    Abort,
    Begin,
    Build,
    Call,
    Event,
    History,
    Raise,
    Reply,
    Return,
    Situation,
    Stopped,
    Submit,
    Unfinished,
)
from conformance.engine.ledger import Ledger, Settings
from reference.vocabulary import Dialect


@dataclass
class Reading:
    """A history as far as it was read. `occasions` names what a right history was an occasion for."""

    settings: Settings
    situation: Situation = "plain"
    changed: str = ""
    ledger: Ledger = field(default_factory=Ledger)
    faults: list[Fault] = field(default_factory=list)
    events: int = 0
    steps: int = 0
    occasions: set[str] = field(default_factory=set)

    @property
    def clean(self) -> bool:
        return not self.faults

    def earliest(self, *causes: str) -> Fault | None:
        """The first fault that has one of these causes."""
        return next((fault for fault in self.faults if fault.cause in causes), None)

    def feed(self, event: Event) -> bool:
        """Read one more event; false from the divergence on."""
        if self.faults:
            return False
        faults = HANDLERS[type(event)](self, event)
        if faults:
            self.faults = [fault.at(self.events, self.steps) for fault in faults]
        self.events += 1
        return not faults

    def note(self, **occasions: bool) -> None:
        """Remember the occasions that are true."""
        for name, given in occasions.items():
            if given:
                self.occasions.add(name.replace("_", " "))


def read(history: History, dialect: Dialect) -> Reading:
    """Read a whole history, or up to its divergence."""
    settings = Settings(history.num_slots, history.stop_token, dialect)
    reading = Reading(settings, history.situation, history.changed)
    follow(reading, history.events)
    return reading


def follow(reading: Reading, events: Iterable[Event]) -> None:
    for event in events:
        if not reading.feed(event):
            return


def _build(reading: Reading, event: Build) -> list[Fault]:
    if reading.settings.num_slots >= 1:
        return [Fault("not built", "an engine", f"{event.error} from Engine(...)")]
    reading.note(bad_arguments=True)
    if event.error == "ValueError":
        return []
    return [Fault("bad arguments taken", "ValueError for fewer than one slot", event.error or "no error")]


def _submit(reading: Reading, event: Submit) -> list[Fault]:
    ledger, name, error = reading.ledger, event.request_id, event.error
    if event.max_tokens < 0:
        reading.note(bad_arguments=True)
        if error == "ValueError":
            return []
        return [Fault("bad arguments taken", "ValueError for a negative max_tokens", error or "no error", name)]
    holder = ledger.live.get(name)
    if holder is not None:
        reading.note(duplicate=True)
        holder.refused = True
        if error == "ValueError":
            return []
        wanted = f"ValueError, because a request with the id {name!r} is live"
        return [Fault("duplicate taken", wanted, error or "no error", name)]
    if error:
        used = ledger.past(name) is not None
        reading.note(id_again=used)
        wanted = f"no error, because no live request has the id {name!r}" + (", which is free again" if used else "")
        return [Fault("reuse refused" if used else "arrival refused", wanted, error, name)]
    _enter(reading, event)
    return []


def _enter(reading: Reading, event: Submit) -> None:
    ledger, settings = reading.ledger, reading.settings
    entry = ledger.submit(event.request_id, event.prompt, settings.limit(event.prompt, event.max_tokens))
    reading.note(
        arrival_while_others_run=bool(ledger.running and entry.limit),
        arrival_inside_a_call=ledger.phase == "asked",
        two_wait=len(ledger.waiting) > settings.num_slots - len(ledger.running) + 1,
        nothing_to_generate=not entry.limit,
        id_again=entry.again,
        id_again_in_flight=any(other.request_id == entry.request_id for other in ledger.dropped),
    )


def _abort(reading: Reading, event: Abort) -> list[Fault]:
    ledger = reading.ledger
    entry = ledger.live.get(event.request_id)
    if event.error:
        return [Fault("abort raised", "no error from abort_request", event.error, event.request_id)]
    if entry is None:
        reading.note(abort_of_nobody=True)
        ledger.missed(event.request_id)
        return []
    reading.note(
        abort_in_flight=entry in ledger.flight,
        abort_beside_others=len(ledger.live) > 1,
        abort_frees_a_slot_for_another=entry.status == "running" and bool(ledger.waiting),
    )
    ledger.abort(entry)
    return []


def _begin(reading: Reading, event: Begin) -> list[Fault]:
    ledger = reading.ledger
    reading.steps += 1
    ledger.begin(reading.settings.num_slots)
    reading.note(idle_step=not ledger.required, step_after_a_failure=ledger.failed is not None)
    return []


def _call(reading: Reading, event: Call) -> list[Fault]:
    faults = calls.judged(reading.ledger, reading.settings, event)
    if not faults:
        reading.ledger.ask(event.rows)
        flight = reading.ledger.flight
        reading.note(several_rows=len(flight) > 1, a_row_with_output=any(entry.generated for entry in flight))
    return faults


def _reply(reading: Reading, event: Reply) -> list[Fault]:
    ledger = reading.ledger
    if event.tokens is None or len(event.tokens) != len(ledger.rows):
        due = any(entry.due_now for entry in ledger.pending.values())
        reading.note(failed_call=True, failed_call_with_endings_due=due)
        ledger.fail(raised=event.tokens is None)
    else:
        ledger.answer(event.tokens)
    return []


def _return(reading: Reading, event: Return) -> list[Fault]:
    ledger, settings = reading.ledger, reading.settings
    if ledger.phase == "begun" and ledger.required:
        return calls.none_made(ledger, settings)
    if ledger.phase == "failed":
        why = (
            "the model's exception to reach the caller" if ledger.raised else "an error, for a reply of a wrong length"
        )
        return [Fault("swallowed" if ledger.raised else "odd reply taken", why, "a step that returned")]
    ledger.resolve(settings, event.outputs)
    faults = outputs.judged(ledger, settings, event)
    if not faults:
        _count(reading, event)
        ledger.deliver(settings, event.outputs)
    return faults


def _count(reading: Reading, event: Return) -> None:
    settings, reasons = reading.settings, {output.finish_reason for output in event.outputs}
    reading.note(
        a_token=bool(reading.ledger.flight),
        ends_as_length="length" in reasons,
        ends_as_abort="abort" in reasons,
        stop_at_the_limit="stop" in reasons
        and any(
            len(entry.generated) + 1 == entry.limit and entry.token == settings.stop_token
            for entry in reading.ledger.answered
        ),
    )


def _raise(reading: Reading, event: Raise) -> list[Fault]:
    ledger = reading.ledger
    if ledger.phase != "failed":
        return calls.crashed(ledger, f"{event.kind}: {event.message}")
    if ledger.raised and not event.surfaced:
        return [Fault("replaced", "the model's exception, itself or chained", f"{event.kind}: {event.message}")]
    ledger.surface()
    return []


def _unfinished(reading: Reading, event: Unfinished) -> list[Fault]:
    ledger = reading.ledger
    open_ones = ledger.open_names()
    reading.note(only_endings_are_left=bool(ledger.pending) and not ledger.waiting and not ledger.running)
    if event.value == bool(open_ones):
        return []
    if open_ones:
        return [Fault("says finished", f"True, because of {', '.join(map(repr, open_ones))}", "False", open_ones[0])]
    return [Fault("says unfinished", "False, because every ending was delivered", "True")]


def _stopped(reading: Reading, event: Stopped) -> list[Fault]:
    return [Fault("never ends", "every step to come to its end, and every request to its ending", event.why)]


HANDLERS: dict[type, Callable[[Reading, Any], list[Fault]]] = {
    Build: _build,
    Submit: _submit,
    Abort: _abort,
    Begin: _begin,
    Call: _call,
    Reply: _reply,
    Return: _return,
    Raise: _raise,
    Unfinished: _unfinished,
    Stopped: _stopped,
}
