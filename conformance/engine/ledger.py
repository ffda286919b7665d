"""Where every request of an engine stands after the events so far: what is live, and a little of the past."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from conformance.engine.events import Output
from conformance.workloads import Tokens
from reference.vocabulary import Dialect

Kept = TypeVar("Kept")
Status = Literal["waiting", "running", "ending", "ended"]
MEMORY = 512  # ids of the past that are remembered, to say what an unexpected row or output was meant for


@dataclass(frozen=True)
class Settings:
    """What stays fixed while an engine lives."""

    num_slots: int
    stop_token: int
    dialect: Dialect

    def limit(self, prompt: Tokens, max_tokens: int) -> int:
        counted = len(prompt) if self.dialect.max_tokens == "total" else 0
        return max(0, max_tokens - counted)


@dataclass(eq=False)
class Entry:
    """One submission. `due` is its prefix now, `token` the reply to its row in this step, `reason` how it ended.

    `again`: its id was in use before; `early`: somebody aborted its id when nobody had it; `refused`: an
    `add_request` with its id was made while it lived. `due_now`: the step under way has to deliver its
    ending; `kept`: a failing step had to, and could not.
    """

    number: int
    request_id: str
    prompt: Tokens
    limit: int
    due: Tokens
    status: Status = "waiting"
    generated: list[int] = field(default_factory=list)
    token: int | None = None
    reason: str | None = None
    again: bool = False
    early: bool = False
    refused: bool = False
    due_now: bool = False
    kept: bool = False
    aborted_in: int = -1
    seated: bool = False

    def full(self, stop_token: int) -> str | None:
        """How it ends with `token`, if it does."""
        if self.token == stop_token:
            return "stop"
        return "length" if len(self.generated) + 1 == self.limit else None


@dataclass
class Ledger:
    """Requests by where they are. `entering` are those that the next call has to have for the first time.

    `flight` are the owners of `rows`, the batch of the call under way; `dropped` those of them that were
    aborted meanwhile. `aborted` were aborted since the last step that was right, or inside it; `failed`
    had a row in the call that failed last.
    """

    live: dict[str, Entry] = field(default_factory=dict)
    waiting: OrderedDict[int, Entry] = field(default_factory=OrderedDict)
    running: list[Entry] = field(default_factory=list)
    pending: OrderedDict[int, Entry] = field(default_factory=OrderedDict)
    entering: list[Entry] = field(default_factory=list)
    rows: tuple[Tokens, ...] = ()
    flight: list[Entry] = field(default_factory=list)
    dropped: list[Entry] = field(default_factory=list)
    aborted: list[Entry] = field(default_factory=list)
    failed: list[Entry] | None = None
    raised: bool = False
    phase: Literal["idle", "begun", "asked", "answered", "failed"] = "idle"
    replies: Tokens = ()
    steps: int = 0
    submitted: int = 0
    _past: OrderedDict[str, Entry] = field(default_factory=OrderedDict)
    _early: OrderedDict[str, None] = field(default_factory=OrderedDict)

    @property
    def required(self) -> list[Entry]:
        """Whose rows the next call has."""
        return self.running + self.entering

    @property
    def answered(self) -> list[Entry]:
        """Who gets a token from this step."""
        return [entry for entry in self.flight if entry.status == "running"] if self.phase == "answered" else []

    def past(self, request_id: str) -> Entry | None:
        """The last submission with this id that has ended, if it is remembered."""
        return self._past.get(request_id)

    def all_past(self) -> Iterable[Entry]:
        return reversed(self._past.values())

    def open_names(self) -> list[str]:
        """The ids of all whose ending was not delivered."""
        return [e.request_id for e in (*self.running, *self.waiting.values(), *self.pending.values())]

    # -- What happens -----------------------------------------------------------------------------------

    def submit(self, request_id: str, prompt: Tokens, limit: int) -> Entry:
        entry = Entry(self.submitted, request_id, prompt, limit, prompt)
        entry.again, entry.early = request_id in self._past, self._early.pop(request_id, 0) is None
        self.submitted += 1
        self.live[request_id] = entry
        if limit:
            self.waiting[entry.number] = entry
        else:
            entry.status, entry.reason = "ending", "length"
            self.pending[entry.number] = entry
        return entry

    def missed(self, request_id: str) -> None:
        """Note an abort that had no effect."""
        _remember(self._early, request_id, None)

    def abort(self, entry: Entry) -> None:
        del self.live[entry.request_id]
        entry.seated = entry.status == "running"
        if entry in self.flight:
            self.dropped.append(entry)
        if entry.seated:
            self.running.remove(entry)
        self.waiting.pop(entry.number, None)
        entry.status, entry.reason, entry.aborted_in = "ending", "abort", self.steps if self.phase == "asked" else -1
        self.pending[entry.number] = entry
        self.aborted.append(entry)
        _remember(self._past, entry.request_id, entry)

    def begin(self, num_slots: int) -> None:
        self.steps += 1
        self.phase = "begun"
        room = max(0, num_slots - len(self.running))
        self.entering = [entry for entry, _ in zip(self.waiting.values(), range(room), strict=False)]
        for entry in self.pending.values():
            entry.due_now = True

    def ask(self, rows: tuple[Tokens, ...]) -> None:
        """Take the call for what it should be: those who enter have entered."""
        for entry in self.entering:
            del self.waiting[entry.number]
            entry.status = "running"
        self.running += self.entering
        self.entering = []
        self.rows, self.flight, self.phase = rows, list(self.running), "asked"

    def answer(self, replies: Tokens) -> None:
        self.replies, self.phase = replies, "answered"

    def fail(self, *, raised: bool) -> None:
        self.raised, self.phase = raised, "failed"

    def surface(self) -> None:
        """The failed step is over: everything is as before it, but for what was done inside the call."""
        for entry in self.pending.values():
            entry.kept = entry.kept or entry.due_now
        self.failed = self.flight
        self._over()

    def resolve(self, settings: Settings, outputs: Sequence[Output]) -> None:
        """Give the replies to the owners of rows. Which of several equal rows got which reply, the outputs tell."""
        if self.phase != "answered":
            return
        groups: dict[Tokens, list[int]] = {}
        for row, reply in zip(self.rows, self.replies, strict=True):
            groups.setdefault(row, []).append(reply)
        if len(groups) == len(self.rows):
            for entry in self.flight:
                entry.token = groups[entry.due][0]
            return
        said = {o.request_id: settings.stop_token if o.token is None else o.token for o in outputs if _says(o)}
        later = []
        for entry in self.flight:
            group = groups[entry.due]
            token = said.get(entry.request_id, group[0])
            if token in group and entry.status == "running":
                group.remove(token)
                entry.token = token
            else:
                later.append(entry)
        for entry in later:
            entry.token = groups[entry.due].pop(0)

    def deliver(self, settings: Settings, outputs: Sequence[Output]) -> None:
        """Take the outputs for what they should be."""
        answered = self.answered
        if self.pending:
            self._deliver_endings(answered, outputs)
        for entry in answered:
            assert entry.token is not None
            reason = entry.full(settings.stop_token)
            entry.generated.append(entry.token)
            entry.due = (*entry.due, entry.token)
            if reason:
                self.running.remove(entry)
                self._end(entry, reason)
        self.failed = None
        self.aborted = [entry for entry in self.aborted if entry.aborted_in == self.steps]
        self._over()

    def _deliver_endings(self, answered: Sequence[Entry], outputs: Sequence[Output]) -> None:
        left = Counter(output.request_id for output in outputs)
        left.subtract(entry.request_id for entry in answered)
        left.subtract(entry.request_id for entry in self.pending.values() if entry.due_now)
        for entry in sorted(self.pending.values(), key=lambda ending: ending.number):
            optional = not entry.due_now and left[entry.request_id] > 0
            left[entry.request_id] -= optional
            if entry.due_now or optional:
                del self.pending[entry.number]
                self._end(entry, entry.reason)

    def _end(self, entry: Entry, reason: str | None) -> None:
        entry.status, entry.reason = "ended", reason
        if self.live.get(entry.request_id) is entry:
            del self.live[entry.request_id]
        newer = self._past.get(entry.request_id)
        if newer is None or newer.number <= entry.number:
            _remember(self._past, entry.request_id, entry)

    def _over(self) -> None:
        self.rows, self.flight, self.dropped, self.replies, self.phase = (), [], [], (), "idle"
        self.entering = []


def _says(output: Output) -> bool:
    return output.token is not None or output.finish_reason == "stop"


def _remember(memory: OrderedDict[str, Kept], key: str, value: Kept) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > MEMORY:
        memory.popitem(last=False)
