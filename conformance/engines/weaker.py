"""Weaker promises: what an adapter may declare in its `POLICY` instead of an invariant, and how much slack each gives.

    POLICY = {"arrival/one-call": ("at most 2 calls a step", "prefill is a call of its own: see ...")}

A declared promise is checked like any other, with its bound; one that is never needed fails the run, so
that the table stays true. There is none for wrong tokens, lost or doubled requests, missing endings, or
what an abort or a failure does to others: those are never waived.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

UNBOUNDED = 10**9


class PolicyError(ValueError):
    """A `POLICY` that cannot be read; the text says what would be right."""


@dataclass(frozen=True)
class Weaker:
    """A form of promise: its words, with {n} where its bound stands, and the slack that it gives."""

    invariant: str
    words: str
    slack: str

    def bound(self, text: str) -> int | None:
        """The bound that a text in these words states; None for other words."""
        pattern = re.escape(self.words).replace(re.escape("{n}"), r"(\d+)")
        match = re.fullmatch(pattern, text)
        return None if match is None else int(match[1]) if match.groups() else UNBOUNDED


FORMS: tuple[Weaker, ...] = (
    Weaker("arrival/next-call", "a request waits at most {n} steps beside a free slot", "wait"),
    Weaker("arrival/one-call", "a step makes at most {n} calls", "calls"),
    Weaker("arrival/fifo", "a request is overtaken in at most {n} steps, while it is prefilled", "overtaken"),
    Weaker("stream/exact-prefix", "a running request lacks a row for at most {n} steps", "lack"),
    Weaker("stream/exact-prefix", "a running request may lack rows, and goes on from its exact prefix", "lack"),
    Weaker("stream/exact-prefix", "rows may be beginnings of a prompt, whose replies reach nobody", "chunks"),
    Weaker("stream/finish", "at most {n} rows after the end, whose replies reach nobody", "ahead"),
    Weaker("stream/immediate", "a token is emitted at most {n} steps after its step", "late"),
    Weaker("stream/one-ending", "the ending comes at most {n} steps after its step", "ending"),
    Weaker("stream/awaited", "unfinished is said for at most {n} steps too long", "busy"),
    Weaker("abort/frees-slot", "at most {n} rows after an abort, whose replies reach nobody", "aborted"),
)
NEVER = (
    "stream/in-order",
    "stream/ends",
    "abort/silent",
    "abort/isolated",
    "id/reusable",
    "id/duplicate",
    "id/independent",
    "failure/resumable",
    "arrival/unchanged",
)


@dataclass(frozen=True)
class Declared:
    """One declared deviation: instead of `invariant`, `words` is checked; `reason` says why, and where it stands."""

    invariant: str
    words: str
    reason: str
    slack: str
    bound: int


@dataclass
class Slack:
    """How far each promise is loosened, and how much of it was ever used, by the names in `FORMS`."""

    declared: tuple[Declared, ...] = ()
    used: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._bounds: dict[str, int] = {}
        for one in self.declared:
            self._bounds[one.slack] = max(one.bound, self._bounds.get(one.slack, 0))

    def allows(self, slack: str, amount: int) -> bool:
        """Whether a deviation of this size is declared; if so, it is noted. None at all is always allowed."""
        least = 1 if slack == "calls" else 0
        if amount <= least:
            return True
        if amount > self._bounds.get(slack, least):
            return False
        self.used[slack] = max(amount, self.used.get(slack, 0))
        return True

    def bound(self, slack: str) -> int:
        return self._bounds.get(slack, 1 if slack == "calls" else 0)

    def idle(self, used: Mapping[str, int]) -> list[Declared]:
        """The declared deviations that do not occur in `used`."""
        return [one for one in self.declared if one.slack not in used]


def declared(policy: object) -> tuple[Declared, ...]:
    """Read a `POLICY`: from invariant ids to (words, reason), or to several such pairs. Raises PolicyError."""
    if not isinstance(policy, Mapping):
        raise PolicyError(f"POLICY is a {type(policy).__name__}; it should be a dict from invariant ids")
    found: list[Declared] = []
    for name, value in policy.items():
        found += [_one(str(name), pair) for pair in _pairs(name, value)]
    return tuple(found)


def _pairs(name: object, value: object) -> Iterable[tuple[str, str]]:
    pairs = [value] if isinstance(value, tuple) and value and isinstance(value[0], str) else value
    if not isinstance(pairs, list | tuple) or not pairs:
        raise PolicyError(f"POLICY[{name!r}] should be (weaker promise, reason), or a list of such pairs")
    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(part, str) and part for part in pair)):
            raise PolicyError(f"POLICY[{name!r}] has {pair!r}; it should be (weaker promise, reason)")
    return pairs


def _one(name: str, pair: tuple[str, str]) -> Declared:
    words, reason = pair
    if name in NEVER:
        raise PolicyError(f"POLICY cannot waive {name}; nothing weaker than it is worth a promise")
    forms = [form for form in FORMS if form.invariant == name]
    for form in forms:
        bound = form.bound(words)
        if bound is not None and bound >= 1:
            return Declared(name, words, reason, form.slack, bound)
    known = "; ".join(repr(form.words) for form in forms) or f"none; {', '.join(sorted({f.invariant for f in FORMS}))}"
    raise PolicyError(f"POLICY[{name!r}] promises {words!r}; the forms for it are: {known}")
