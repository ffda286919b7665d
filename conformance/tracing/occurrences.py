"""What a judge found: how often each promise was broken, and where first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Occurrence:
    """One promise, broken once: in call or step `place`, counted from 1, which line `line` told.

    `cause` is the finer name that the judge has for it, or empty; `lanes` are the ids in the last calls.
    """

    name: str
    line: int
    place: int
    where: str
    expected: str
    observed: str
    request_id: str | None = None
    cause: str = ""
    lanes: tuple[tuple[str, ...], ...] = ()


@dataclass
class Occurrences:
    """Every promise's first occurrence and its count; what is waived is counted apart and blamed on nobody."""

    allowed: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    first: dict[str, Occurrence] = field(default_factory=dict)
    count: Counter[str] = field(default_factory=Counter)

    def add(self, found: Iterable[Occurrence]) -> None:
        """Take what was found in one place; promises that the trace's facts cannot show are left out."""
        for one in found:
            if one.name in self.unknown:
                continue
            self.count[one.name] += 1
            known = self.first.get(one.name)
            # What waited for the future is told later than what came after it.
            if known is None or one.line < known.line:
                self.first[one.name] = one

    @property
    def violated(self) -> list[Occurrence]:
        """First occurrences that are not waived, the earliest in front."""
        return sorted((o for o in self.first.values() if o.name not in self.allowed), key=_order)

    @property
    def earliest(self) -> list[Occurrence]:
        """What is wrong at the first place where anything is: not a consequence of anything."""
        found = self.violated
        return [one for one in found if one.line == found[0].line]


def _order(one: Occurrence) -> tuple[int, str]:
    return (one.line, one.name)
