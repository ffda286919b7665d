"""What the encounters add up to. `docs/grading-tests.md` says what each field means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from conformance.catalogue import CATALOGUE
from conformance.grading.own_tests.encounter import Outcome
from conformance.grading.own_tests.lineup import Member, Role
from conformance.grading.own_tests.messages import OutcomeKind
from conformance.grading.schema import Sandbox

SCHEMA_VERSION = 1
VerdictClass = Literal["accepts", "rejects-right", "invalid"]
REJECTION = ("failed", "timeout")


class _Struct(msgspec.Struct, forbid_unknown_fields=True):
    """Unknown fields are refused, so that a misspelt or newer one is noticed."""


class Described(_Struct):
    """The file that was graded, and the module that it imports."""

    target: str
    module: str
    sha256: str | None


class Share(_Struct):
    """How many of the flawed ones were rejected."""

    rejected: int
    flawed: int


class Broken(_Struct):
    """The flawed ones that break one invariant; `missed` names those that were not rejected."""

    name: str
    level: Literal["MUST", "SHOULD"]
    rejected: int
    flawed: int
    missed: list[str]


class Faced(_Struct):
    """One implementation, and how the tests found it."""

    name: str
    role: Role
    breaks: list[str]
    outcome: OutcomeKind
    test: str
    why: str
    passed: int
    seconds: float


class GradedTests(_Struct):
    """The verdict on a file of tests. `score` is 0 where a right implementation is not accepted."""

    schema_version: int
    slotspec_version: str
    tests: Described
    verdict: VerdictClass
    reason: str
    dialect: dict[str, str]
    score: float
    must: Share
    should: Share
    invariants: list[Broken]
    implementations: list[Faced]
    complete: bool
    seed: int
    limit: float
    seconds: float
    sandbox: Sandbox


def faced(member: Member, outcome: Outcome) -> Faced:
    """Put an encounter on record."""
    short = (outcome.kind, outcome.test, outcome.why, outcome.passed, round(outcome.seconds, 3))
    return Faced(member.name, member.role, list(member.breaks), *short)


def right(found: Sequence[Faced]) -> list[Faced]:
    return [one for one in found if one.role == "right"]


def conclusion(found: Sequence[Faced], stopped: str) -> tuple[VerdictClass, str]:
    """Pronounce: what keeps every right one from passing decides."""
    refused = [one for one in right(found) if one.outcome != "passed"]
    for one in refused:
        if one.outcome in ("invalid", "crashed"):
            return "invalid", one.why if one.outcome == "invalid" else f"{one.why} ({one.name})"
    of = f"{len(right(found))} right implementation{'s' * (len(right(found)) != 1)}"
    if refused:
        return "rejects-right", f"it rejects {len(refused)} of {of}" + f"; {stopped}" * bool(stopped)
    return "accepts", f"it accepts {'all ' if len(right(found)) > 1 else ''}{of}"


def share(found: Sequence[Faced], role: Role) -> Share:
    flawed = [one for one in found if one.role == role]
    return Share(sum(one.outcome in REJECTION for one in flawed), len(flawed))


def by_invariant(found: Sequence[Faced]) -> list[Broken]:
    """Count by invariant, MUST before SHOULD; an implementation that breaks two counts for both."""
    table = []
    for name, invariant in sorted(CATALOGUE.items(), key=lambda item: (item[1].level, item[0])):
        flawed = [one for one in found if name in one.breaks]
        missed = sorted(one.name for one in flawed if one.outcome not in REJECTION)
        if flawed:
            table.append(Broken(name, invariant.level, len(flawed) - len(missed), len(flawed), missed))
    return table


def score(verdict: VerdictClass, must: Share) -> float:
    return round(must.rejected / must.flawed, 4) if verdict == "accepts" and must.flawed else 0.0
