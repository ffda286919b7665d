"""The judge of an engine's trace: its lines become the events of `conformance.engine`, which judges them.

That reader stops at the first fault. Here it goes on behind it, as the engine went on: see `resume`.
"""

from __future__ import annotations

from collections import deque

from conformance.engine.catalogue import judged
from conformance.engine.events import (
    Abort,
    Begin,
    Call,
    Event,
    Output,
    Raise,
    Reply,
    Return,
    Stopped,
    Submit,
    Unfinished,
)
from conformance.engine.ledger import Settings
from conformance.engine.outputs import owed
from conformance.engine.reading import Reading
from conformance.tracing import messages as m
from conformance.tracing.occurrences import Occurrence, Occurrences
from conformance.tracing.reading import TraceError
from conformance.tracing.resume import resume
from conformance.tracing.rows import Named, tokens_of
from conformance.workloads import Tokens
from reference.vocabulary import Dialect

FILLER = -(2**59)  # stands for a token that the trace does not tell
COLUMNS = 16


class EngineJudge:
    """Give it the messages of a trace in order, each with its line, and `finish` it. It keeps what is live."""

    def __init__(self, header: m.Header, dialect: Dialect, found: Occurrences) -> None:
        self.header, self.found = header, found
        self.reading = Reading(Settings(header.num_slots, header.stop_token, dialect))
        self.named = Named() if header.rows == "named" else None
        self.calls, self.line, self.submitted = 0, 0, 0
        self.emits, self.tells = "emissions" not in header.without, "tokens" not in header.without
        self.ends: dict[str, str] = {}
        self.columns: deque[tuple[str, ...]] = deque(maxlen=COLUMNS)
        self.outside = False

    @property
    def live(self) -> int:
        """How many things are held in memory, for the test that it does not grow."""
        ledger = self.reading.ledger
        kept = len(ledger.live) + len(ledger.pending) + sum(1 for _ in ledger.all_past())
        return kept + len(self.named or ()) + len(self.ends) + len(ledger.aborted)

    @property
    def phase(self) -> str:
        return self.reading.ledger.phase

    def feed(self, message: m.Message, line: int) -> None:
        self.line = line
        if not self.emits and not isinstance(message, m.End | m.Reply):
            self._end_step(message)
        match message:
            case m.Submit():
                self._submit(message)
            case m.Abort():
                self._event(Abort(message.id, message.error))
                self._left(message.id)
            case m.Call():
                self._call(message)
            case m.Reply():
                self._reply(message.tokens, message.error)
            case m.Emit():
                self._emit(message)
            case m.End():
                self._end(message)
            case m.Unfinished():
                self._event(Unfinished(message.value))
            case m.Raise():
                self._begin()
                self._event(Raise(message.kind, message.message, message.surfaced))
            case m.Stopped():
                self._event(Stopped(message.why))
            case m.Close():
                self._close()
            case _:
                raise TraceError(
                    line, f"`{type(message).__struct_config__.tag}` belongs to a trace of profile generate"
                )

    def finish(self) -> None:
        """Nothing waits for the end here."""

    # -- Requests -----------------------------------------------------------------------------------------

    def _submit(self, message: m.Submit) -> None:
        prompt = tokens_of(message, self.submitted, self.header, self.line)
        self.submitted += 1
        before = self.reading.ledger.submitted
        self._event(Submit(message.id, prompt, message.max_tokens, message.error))
        if self.named is not None and self.reading.ledger.submitted > before:
            self.named.enter(message.id, self.reading.ledger.live[message.id])
            if not self.reading.ledger.live[message.id].limit:
                self._left(message.id)

    def _left(self, name: str) -> None:
        if self.named is not None:
            self.named.leave(name)

    # -- Steps --------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self.phase == "asked":
            raise TraceError(self.line, "the call before has no reply yet")
        if self.phase == "idle":
            self._event(Begin())

    def _call(self, message: m.Call) -> None:
        if not message.outside or self.phase != "idle":
            self._begin()
        self.outside = message.outside
        self.calls += 1
        rows = self._rows(message)
        self._event(Call(rows, message.malformed))
        self.columns.append(tuple(entry.request_id for entry in self.reading.ledger.flight))
        partial = self.named.partial if self.named is not None else set()
        wait = {rows[place] for place in partial}
        if wait:
            self.reading.ledger.flight = [e for e in self.reading.ledger.flight if e.due not in wait]
        if message.tokens is not None or message.error or message.malformed:
            self._reply(message.tokens, message.error)

    def _rows(self, message: m.Call) -> tuple[Tokens, ...]:
        if message.tokens is not None and not self.tells:
            raise TraceError(self.line, "tokens, which the header says the trace is without")
        if self.named is not None:
            return self.named.rows(message, self.line)
        if message.named is not None:
            raise TraceError(self.line, "named rows, which the header does not announce")
        return tuple(map(tuple, message.rows or ()))

    def _reply(self, tokens: list[int | None] | None, error: str) -> None:
        if self.phase != "asked":
            raise TraceError(self.line, "a reply, and no call that waits for one")
        rows, partial = self.reading.ledger.rows, self.named.partial if self.named is not None else set()
        if error:
            self._event(Reply(None))
            return
        if self.outside:
            self.reading.ledger.phase = "idle"  # whatever was generated there is no step's to emit
            return
        if tokens is None and rows:
            raise TraceError(self.line, "neither `tokens` nor `error` in a reply")
        given = tokens or []
        if len(given) == len(rows) and any((t is None) != (i in partial) for i, t in enumerate(given)):
            raise TraceError(self.line, "null is the token of a named row that is a part of a prompt, and only of one")
        self._event(Reply(tuple(FILLER if token is None else token for token in given)))

    def _emit(self, message: m.Emit) -> None:
        if not self.emits:
            raise TraceError(self.line, "`emit`, which the header says the trace is without")
        outputs = tuple(Output(*output) for output in message.outputs)
        if self.phase == "asked" and not self.tells:
            self._infer(
                {o.request_id: self.header.stop_token if o.token is None else o.token for o in outputs if _said(o)}
            )
        self._begin()
        self._return(outputs, message.malformed)

    def _infer(self, said: dict[str, int]) -> None:
        """Take the tokens of the model from what was emitted, where the trace does not tell them."""
        ledger, left = self.reading.ledger, list(self.reading.ledger.flight)
        tokens = []
        for row in ledger.rows:
            owner = next((entry for entry in left if entry.due == row), None)
            if owner is not None:
                left.remove(owner)
            tokens.append(FILLER if owner is None else said.get(owner.request_id, FILLER))
        self._event(Reply(tuple(tokens)))

    def _return(self, outputs: tuple[Output, ...], malformed: str = "") -> None:
        flight = list(self.reading.ledger.flight)
        self._event(Return(outputs, malformed))
        live = self.reading.ledger.live
        for name in {entry.request_id for entry in flight} - live.keys():
            self._left(name)

    # -- Traces without emissions ---------------------------------------------------------------------------

    def _end(self, message: m.End) -> None:
        if self.emits or "endings" in self.header.without:
            raise TraceError(self.line, "`end` belongs to a trace without emissions, and with endings")
        ledger = self.reading.ledger
        if message.id in self.ends:
            raise TraceError(self.line, f"a second `end` of {message.id!r} in one step")
        self.ends[message.id] = message.reason
        if self.phase == "idle":
            for entry in ledger.pending.values():
                entry.due_now = entry.due_now or entry.request_id == message.id
            self._return(self._told())

    def _end_step(self, message: m.Message) -> None:
        """The step is over with the line before this one, unless its call has not been answered."""
        if self.phase == "asked" and (self.tells or isinstance(message, m.Submit | m.Abort)):
            return
        if self.phase == "asked":
            self._infer({name: self.header.stop_token for name, reason in self.ends.items() if reason == "stop"})
        if self.phase == "answered":
            self._return(self._told())

    def _told(self) -> tuple[Output, ...]:
        """The outputs that should be, with the endings that are."""
        ledger, ends, out = self.reading.ledger, self.ends, []
        self.ends = {}
        ledger.resolve(self.reading.settings, ())
        for debt in owed(ledger, self.reading.settings):
            output, told = debt.output, ends.pop(debt.output.request_id, None)
            if "endings" in self.header.without:
                told = output.finish_reason
            waits = output.token is None and debt.entry.status != "running"
            if told is not None or not waits:
                out.append(output._replace(finish_reason=told))
        return (*out, *(Output(name, None, reason) for name, reason in ends.items()))

    # -- The end, and what is wrong -------------------------------------------------------------------------

    def _close(self) -> None:
        if self.phase != "idle":
            raise TraceError(self.line, "the trace is closed in the middle of a step")
        names = self.reading.ledger.open_names() if self.emits or "endings" not in self.header.without else []
        if names:
            self._event(Stopped(f"the trace is complete, without an ending of {', '.join(map(repr, names[:8]))}"))

    def _event(self, event: Event) -> None:
        reading = self.reading
        if reading.feed(event):
            return
        self.found.add(
            Occurrence(
                name,
                self.line,
                v.call,
                f"in step {v.call}",
                v.expected,
                v.observed,
                v.request_id,
                v.cause,
                tuple(self.columns),
            )
            for name, v in judged(reading).violations.items()
        )
        resume(reading, event)


def _said(output: Output) -> bool:
    return output.token is not None or output.finish_reason == "stop"
