"""The judge of a `generate` trace: it follows the calls, and goes on behind what is wrong as it was recorded."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from conformance.attribution import MAX_LEDGERS
from conformance.history import Call, Ongoing, Outcome, Raised, Returned, Unended
from conformance.invariant import Violation
from conformance.tracing import messages as m
from conformance.tracing.occurrences import Occurrence, Occurrences
from conformance.tracing.reading import TraceError
from conformance.tracing.rows import Named, tokens_of
from conformance.tracing.slots import NONE, Entry, Owners, Slots
from conformance.tracing.window import Open, Window, diverged, ending
from conformance.workloads import Tokens
from reference.vocabulary import Dialect, Request

MAX_OPEN = 64  # calls whose causes wait for the future; more of them are decided at once
MAX_EXTRA = 64
COLUMNS = 16


class GenerateJudge:
    """Give it the messages of a trace in order, each with its line, and `finish` it. It keeps what is live.

    `states` are the readings of the trace so far: one, but where equal rows got different replies.
    """

    def __init__(self, header: m.Header, dialect: Dialect, found: Occurrences) -> None:
        self.header, self.dialect, self.found = header, dialect, found
        self.states = [Slots(header.num_slots, header.stop_token, dialect, "results" not in header.without)]
        self.named = Named() if header.rows == "named" else None
        self.calls, self.line, self.submitted = 0, 0, 0
        self.asked: dict[str, int] = {}
        self.open: list[Open] = []
        self.extra: list[tuple[str, Tokens]] = []
        self.columns: deque[tuple[str, ...]] = deque(maxlen=COLUMNS)
        self.pending: m.Call | None = None
        self.failed, self.failures = "", 0
        self.outcome: Outcome = Ongoing()

    @property
    def live(self) -> int:
        """How many things are held in memory, for the test that it does not grow."""
        waits = sum(len(o.watched) + len(o.seen) for o in self.open)
        return sum(state.live() for state in self.states) + waits + len(self.extra) + len(self.asked)

    def feed(self, message: m.Message, line: int) -> None:
        self.line = line
        match message:
            case m.Submit():
                self._submit(message)
            case m.Call():
                self._call(message)
            case m.Reply():
                self._reply(message)
            case m.Result():
                self._result(message.id, tuple(message.tokens))
            case m.Return():
                self.outcome = Returned((), message.malformed)
            case m.Raise():
                self.outcome = Raised(message.kind, message.message, message.surfaced)
            case m.Stopped():
                self.outcome = Unended(message.why)
            case _:
                kind = type(message).__struct_config__.tag
                raise TraceError(line, f"`{kind}` belongs to a trace of profile engine")

    def finish(self) -> None:
        """Decide what had to wait for the end."""
        if self.pending is not None and isinstance(self.outcome, Returned):
            raise TraceError(self.line, "the call before has no reply")
        settled = Returned(()) if isinstance(self.outcome, Returned) else self.outcome
        for one in self.open:
            self._add(one.decided(settled), one.line, one.place, one.lanes)
        self.open = []
        if not self.failed and self._settled():
            return
        window = ending(self.states[0], self.outcome, self.extra)
        if self.failed:
            said = None if isinstance(self.outcome, Ongoing) else window.failure(self.failed)
            self._add({"failure/surfaces": said} if said else {}, self.line, self.calls, self._lanes(()))
        elif not isinstance(self.outcome, Ongoing):
            self._add(window.violations(), self.line, self.calls + 1, self._lanes(()))

    def _settled(self) -> bool:
        """The quick look: a return, with everybody's result before it."""
        state, right = self.states[0], isinstance(self.outcome, Returned) and not self.outcome.malformed
        return right and not (state.unfinished or state.owed or self.extra)

    # -- Before the calls, and after them -----------------------------------------------------------------

    def _submit(self, message: m.Submit) -> None:
        if self.calls or self.pending:
            raise TraceError(self.line, "a `submit` behind a call: `generate` has all its requests first")
        if message.id in self.asked:
            raise TraceError(self.line, f"the id {message.id!r} was submitted on line {self.asked[message.id]} already")
        if message.max_tokens < 0 or message.error:
            raise TraceError(self.line, "a request that was refused is no part of a run of `generate`")
        self.asked[message.id] = self.line
        prompt = tokens_of(message, self.submitted, self.header, self.line)
        limit = self.dialect.limit(Request(message.id, list(prompt), message.max_tokens))
        entry = Entry(self.submitted, message.id, prompt, message.max_tokens, limit, prompt)
        self.submitted += 1
        self.states[0].submit(entry)
        if self.named is not None:
            self.named.enter(message.id, entry)

    def _result(self, name: str, tokens: Tokens) -> None:
        if "results" in self.header.without:
            raise TraceError(self.line, "a `result`, which the header says the trace is without")
        right = [s for s in self.states if name in s.owed and s.output(s.owed[name]) == tokens]
        self.states = right or self.states
        for state in right:
            del state.owed[name]
        if not right and len(self.extra) < MAX_EXTRA:
            self.extra.append((name, tokens))

    # -- Calls --------------------------------------------------------------------------------------------

    def _call(self, message: m.Call) -> None:
        if self.pending is not None:
            raise TraceError(self.line, "a call, where the reply to the one before should come")
        if self.failed:
            self.calls += 1
            said = ending(self.states[0], Ongoing(), []).failure(self.failed, 1)
            self._add({"failure/surfaces": said} if said else {}, self.line, self.calls, self._lanes(()))
            self.failed = ""
        self.pending = message
        if message.tokens is not None or message.error or message.malformed:
            self._answered(message.tokens, message.error)

    def _reply(self, message: m.Reply) -> None:
        if self.pending is None:
            raise TraceError(self.line, "a reply, and no call that waits for one")
        self._answered(message.tokens, message.error)

    def _answered(self, tokens: list[int | None] | None, error: str) -> None:
        message, self.pending = self.pending, None
        assert message is not None
        self.asked.clear()
        rows = self._rows(message)
        if not message.malformed and not error and (tokens is None or len(tokens) != len(rows)):
            raise TraceError(self.line, f"{len(tokens or ())} tokens for {len(rows)} rows")
        partial = self.named.partial if self.named is not None else set()
        if any((token is None) != (place in partial) for place, token in enumerate(tokens or ())):
            raise TraceError(self.line, "null is the token of a named row that is a part of a prompt, and only of one")
        replies = tuple(NONE if token is None else token for token in tokens or ())
        self.calls += 1
        call = Call(rows, replies if not error else (0,) * len(rows), message.malformed)
        self._look_back(rows)
        after = [s for state in self.states for s in self._taken(state, call, bool(error))]
        self.failed = error
        self.failures += bool(error)
        if after:
            self.states = after[:MAX_LEDGERS]
        else:
            self.states = self.states[:1]
            self._diverged(self.states[0], call)

    def _rows(self, message: m.Call) -> tuple[Tokens, ...]:
        if self.named is not None:
            return self.named.rows(message, self.line)
        if message.named is not None:
            raise TraceError(self.line, "named rows, which the header does not announce")
        return tuple(map(tuple, message.rows or ()))

    def _taken(self, state: Slots, call: Call, failed: bool) -> Iterable[Slots]:
        """The readings that a clean call leads to; none for one that is not clean."""
        state.settle(call.rows)
        owners = state.owners(call)
        if owners is None:
            return []
        self._pads(state, call, owners)
        names = tuple(owner.request_id for owner in owners if owner is not None)
        self.columns.append(names)
        if failed:
            return [state]
        assert call.replies is not None
        shares, out = state.shares(call, owners), [state]
        for shared in shares[1:]:
            other, mine = state.fork(shared)
            other.advance(call, mine, call.replies)
            out.append(other)
        state.advance(call, shares[0], call.replies)
        if self.named is not None:
            for name in (o.request_id for o in owners if o is not None and o.reason):
                self.named.leave(name)
        return out

    def _pads(self, state: Slots, call: Call, owners: Owners) -> None:
        first = next(iter(state.pads), None)
        for owner, row in zip(owners, call.rows, strict=True):
            if owner is None and first is None:
                first = row
            if owner is None and first is not None and row != first:
                said = Violation(0, f"the pad row {list(first)}, as before", f"{list(row)}")
                self._add({"pad/constant": said}, self.line, self.calls, self._lanes(()))

    # -- What is wrong ------------------------------------------------------------------------------------

    def _look_back(self, rows: tuple[Tokens, ...]) -> None:
        for one in [one for one in self.open if one.look(rows)]:
            self.open.remove(one)
            self._add(one.decided(Returned(())), one.line, one.place, one.lanes)

    def _diverged(self, state: Slots, call: Call) -> None:
        window = diverged(state, call)
        split = window.found.divergence
        assert split is not None
        names = tuple(window.entries[r].request_id for r in (*split.seen, *split.claimed))
        one = Open(window, self.line, self.calls, self._lanes(names), window.watched)
        one.look(call.rows)
        if one.watched and len(self.open) < MAX_OPEN:
            self.open.append(one)
        else:
            outcome: Outcome = Ongoing() if one.watched else Returned(())
            self._add(one.decided(outcome), one.line, one.place, one.lanes)
        self._adopt(state, window, call)
        self.columns.append(names)

    def _adopt(self, state: Slots, window: Window, call: Call) -> None:
        """Go on from what the call was, not from what it should have been."""
        split, replies = window.found.divergence, list(call.replies or ())
        assert split is not None
        if call.malformed:
            return
        state.away += window.missing
        state.running = [entry for entry in state.running if entry not in state.away]
        right = [window.entries[r] for r in split.seen] + state.over
        wrong = {stranger.row: (stranger, entry) for stranger, entry in window.strangers()}
        owners: list[Entry | None] = []
        for row in call.rows:
            mine = next((entry for entry in right if entry.due == row), None)
            if mine is not None:
                right.remove(mine)
            elif row in wrong and wrong[row][0].kind != "again":
                mine = wrong[row][1]
            owners.append(None if mine in owners else mine)
            if mine is not None and not mine.limit:
                mine.reason, mine.admitted = "length", True
        state.over += [o for o in owners if o is not None and o.reason and o not in state.over]
        state.advance(call, tuple(owners), replies)

    def _lanes(self, last: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        return (*self.columns, last) if last else tuple(self.columns)

    def _add(self, said: dict[str, Violation], line: int, place: int, lanes: tuple[tuple[str, ...], ...]) -> None:
        where = f"at call {place}" if place <= self.calls else f"at the end, after {self.calls} calls"
        self.found.add(
            Occurrence(name, line, place, where, v.expected, v.observed, None, "", lanes) for name, v in said.items()
        )
