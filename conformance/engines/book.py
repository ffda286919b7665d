"""A ledger for engines that run ahead of what they tell: what was generated, what of it was emitted, what is late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.engine.events import Output
from conformance.engine.ledger import Entry, Ledger, Settings
from conformance.workloads import Tokens


@dataclass
class Account:
    """What is kept of one submission beside its `Entry`, counted in steps that returned.

    `made` has the step of each generated token; `emitted` of them were told; `untold` since step `told_at`,
    its ending only is owed. `passed` and `lacked` count steps without a row, or without its ending. `ahead`
    and `cut` count rows after its end and after its abort; `flown` is its prefix with the token that an abort
    dropped; `natural` how it had ended when it was aborted. With `undo`, its last token is of a step that failed
    in a later call, and may be asked for again. `overtaken` has the steps in which a later one entered first.
    """

    made: list[int] = field(default_factory=list)
    emitted: int = 0
    untold: bool = False
    told_at: int = 0
    passed: int = 0
    lacked: int = 0
    ahead: int = 0
    cut: int = 0
    flown: Tokens | None = None
    natural: str | None = None
    undo: bool = False
    overtaken: set[int] = field(default_factory=set)


@dataclass
class Book(Ledger):
    """The ledger, with requests that have finished and were not told so (`finishing`).

    `owners` are those of the rows of the call under way, None where the reply reaches nobody; `served` had a
    row in this step; `due` had to have one; `round` counts the steps that returned. `vain` has the rows of this
    step whose replies reach nobody: a step that fails has asked none of them.
    """

    finishing: list[Entry] = field(default_factory=list)
    owners: list[Entry | None] = field(default_factory=list)
    served: set[int] = field(default_factory=set)
    due: list[Entry] = field(default_factory=list)
    round: int = 0
    calls: int = 0
    accounts: dict[int, Account] = field(default_factory=dict)
    vain: list[tuple[Account, str]] = field(default_factory=list)

    def account(self, entry: Entry) -> Account:
        return self.accounts.setdefault(entry.number, Account())

    def begin(self, num_slots: int) -> None:
        super().begin(num_slots)
        self.due = list(self.required)
        self.served, self.calls = set(), 0

    def abort(self, entry: Entry) -> None:
        account = self.account(entry)
        account.lacked = 0
        if entry in self.finishing:
            account.natural = entry.reason
            self.finishing.remove(entry)
            entry.status = "finishing"  # type: ignore[assignment]  # neither waits nor runs
        super().abort(entry)

    def seat(self, entry: Entry) -> None:
        """A waiting request has its first row."""
        if self.waiting.pop(entry.number, None) is not None:
            entry.status = "running"
            self.running.append(entry)
        if entry in self.entering:
            self.entering.remove(entry)

    def asked(self, rows: tuple[Tokens, ...], owners: list[Entry | None]) -> None:
        self.rows, self.owners, self.phase = rows, owners, "asked"
        self.flight = [entry for entry in owners if entry is not None]
        self.calls += 1

    def replied(self, settings: Settings, replies: Tokens) -> None:
        """Give each reply to the owner of its row, if it still runs."""
        self.replies, self.phase = replies, "answered"
        for entry, token in zip(self.owners, replies, strict=True):
            if entry is None:
                continue
            account = self.account(entry)
            if entry.status != "running":
                account.flown = (*entry.due, token)
                continue
            entry.token = token
            entry.reason = entry.full(settings.stop_token)
            entry.generated.append(token)
            entry.due = (*entry.due, token)
            account.made.append(self.round)
            if entry.reason:
                self.running.remove(entry)
                self.finishing.append(entry)

    def fail(self, *, raised: bool) -> None:
        super().fail(raised=raised)
        for account, kind in self.vain:
            setattr(account, kind, getattr(account, kind) - 1)

    def surface(self) -> None:
        super().surface()
        for entry in (*self.running, *self.finishing):
            account = self.account(entry)
            account.undo = account.made[-1:] == [self.round] and account.emitted < len(account.made)

    def undone(self, row: Tokens) -> Entry | None:
        """Take back the last token of the request that has this row again, after a step that failed."""
        for entry in (*self.running, *self.finishing):
            account = self.account(entry)
            if account.undo and entry.due[:-1] == row:
                entry.generated.pop()
                account.made.pop()
                entry.due, entry.reason, account.undo = row, None, False
                if entry in self.finishing:
                    self.finishing.remove(entry)
                    self.running.append(entry)
                return entry
        return None

    def open_with(self, request_id: str) -> Entry | None:
        """The oldest submission with this id whose ending was not told."""
        found = [entry for entry in self.open_entries() if entry.request_id == request_id]
        return min(found, key=lambda entry: entry.number, default=None)

    def open_entries(self) -> Iterator[Entry]:
        yield from (*self.running, *self.waiting.values(), *self.pending.values(), *self.finishing)

    def open_names(self) -> list[str]:
        return [entry.request_id for entry in self.open_entries()]

    def next_output(self, entry: Entry, settings: Settings) -> Output | None:
        """The next thing to be told of it; None where nothing is due yet."""
        account, name = self.account(entry), entry.request_id
        if entry.number in self.pending:
            return Output(name, None, entry.reason)
        if account.untold:
            return Output(name, None, entry.reason)
        if account.emitted == len(entry.generated):
            return None
        last = entry in self.finishing and account.emitted + 1 == len(entry.generated)
        token: int | None = entry.generated[account.emitted]
        if last and entry.reason == "stop" and settings.dialect.stop_token == "excluded":
            token = None
        return Output(name, token, entry.reason if last else None)

    def told(self, entry: Entry) -> None:
        """Its ending was delivered."""
        self.pending.pop(entry.number, None)
        if entry in self.finishing:
            self.finishing.remove(entry)
        self._end(entry, entry.reason)

    def returned(self) -> None:
        self.failed = None
        self.aborted = [entry for entry in self.aborted if entry.aborted_in == self.steps]
        self.round += 1
        self._over()

    def _over(self) -> None:
        super()._over()
        self.owners, self.due, self.vain = [], [], []
