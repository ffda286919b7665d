"""A cached run with the owner of every row, and what its first wrong forward did to the cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from conformance.attribution import Attribution
from conformance.cached.history import CachedRun
from conformance.invariant import Violation
from conformance.workloads import Tokens

SlipKind = Literal["shape", "range", "twice", "nothing", "stale", "step"]


class Slip(NamedTuple):
    """Something that the forward number `call`, or a reset before it, did to the cache and should not have."""

    kind: SlipKind
    call: int
    expected: str
    observed: str
    request: int | None = None


@dataclass
class CachedAttribution(Attribution):
    """A core attribution of the recovered rows, and what it takes to make one.

    By slot: `held` is the request in progress there, `written` how many tokens of its prefix are in the
    line, `last` who was there last. `entered` lists who entered at each forward.
    """

    cached: CachedRun
    held: dict[int, int] = field(default_factory=dict)
    written: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    entered: list[tuple[int, ...]] = field(default_factory=list)
    slips: tuple[Slip, ...] = ()

    def branch(self) -> CachedAttribution:
        """Copy it, so that both can go on."""
        return CachedAttribution(
            self.run,
            self.dialect,
            self.limits,
            list(self.owners),
            self.ledger.copy(),
            None,
            self.cached,
            dict(self.held),
            dict(self.written),
            dict(self.last),
            list(self.entered),
        )

    def begins(self, request: int, new: Tokens) -> bool:
        """Whether `new` is a first row of `request`: its prompt, or a beginning of it that is not empty."""
        prompt = self.run.workload.asks[request].prompt
        return prompt[: len(new)] == new and bool(new or not prompt)


def cached(found: Attribution) -> CachedAttribution:
    """Narrow what a check of this profile is given. Raises TypeError for a core run, which has no cache."""
    if not isinstance(found, CachedAttribution):
        raise TypeError("this promise speaks of a cached run")
    return found


def slipped(found: Attribution, kind: SlipKind) -> Violation | None:
    """The first slip of a kind, as a violation."""
    for slip in cached(found).slips:
        if slip.kind == kind:
            return Violation(slip.call, slip.expected, slip.observed, slip.request)
    return None
