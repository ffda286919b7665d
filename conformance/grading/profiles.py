"""The follow-up questions in a grading: which of them a candidate answers, and what came of each.

A profile applies where its name is offered in its shape. A class that is called `Engine` and has not the
four methods of one is a helper of the candidate's own, and is passed over with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal

from conformance.grading.dialects import DEFAULT, compatible
from conformance.grading.isolated import IsolatedImplementation
from conformance.grading.profile_courses import COURSES, Course
from conformance.grading.referee_watch import MOST_DEATHS, MOST_TIMEOUTS
from conformance.grading.schema import Bound, LineReport, ProfileName, ProfileReport, PromiseReport, Score, VerdictClass
from reference.vocabulary import AXES, Dialect

AFTER_A_FINDING = 150  # more lives or runs, once a MUST is known to be broken
TITLES: dict[ProfileName, str] = {
    "cached": "The key/value cache: slots freed and reused",
    "engine": "Arrivals while running, streaming, cancelling",
    "fair": "Bounded waiting by a quantum",
}


@dataclass(frozen=True)
class Budget:
    """How much is tried: the effort, the seed of what is drawn, and the seconds for each profile."""

    effort: Literal["quick", "default", "thorough"]
    seed: int
    seconds: float


def offered(abilities: Sequence[str]) -> dict[ProfileName, str]:
    """The profiles that a candidate seems to answer: with nothing where they apply, or why they do not."""
    found: dict[ProfileName, str] = {name: "" for name in COURSES if name in abilities}
    amiss = next((said for said in abilities if said.startswith("no engine: ")), "")
    return found | ({"engine": amiss.partition(": ")[2]} if amiss else {})


def examined(
    held: IsolatedImplementation, budget: Budget, wanted: Sequence[str] = (), near: Dialect = DEFAULT
) -> list[ProfileReport]:
    """Examine every profile that applies; with `wanted`, only those named. `near` is how `generate` was read."""
    reports = []
    for name, amiss in offered(held.abilities).items():
        if wanted and name not in wanted:
            continue
        reports.append(skipped(name, amiss) if amiss else _examined(name, held, budget, near))
    lacking = [name for name in wanted if name in COURSES and name not in offered(held.abilities)]
    return reports + [skipped(name, "it offers nothing of that name", missing=True) for name in lacking]


def skipped(name: ProfileName, reason: str, *, missing: bool = False) -> ProfileReport:
    """The report of a profile that does not apply; one that was asked for and is missing is invalid."""
    return ProfileReport(name, "invalid" if missing else "skipped", reason, {}, Score(0, 0, 0.0), [], [], 0)


def _examined(name: ProfileName, held: IsolatedImplementation, budget: Budget, near: Dialect) -> ProfileReport:
    held.ends.clear()
    course = COURSES[name](held, held.dialect)
    if "choose" not in held.abilities:
        possible = compatible(held.declared)
        course = COURSES[name](held, inferred(course, possible, near)) if len(possible) > 1 else course
    bounds, ended = _searched(course, budget)
    return _report(name, course, bounds, ended)


def inferred(course: Course, possible: Sequence[Dialect], near: Dialect) -> Dialect:
    """The dialect under which most of some small lives or runs are right; of equals the nearest."""
    right = course.readings(possible)

    def weight(dialect: Dialect) -> tuple[int, bool, int]:
        return right[dialect], dialect == near, -sum(getattr(dialect, axis) != getattr(DEFAULT, axis) for axis in AXES)

    return max(possible, key=weight)


def _searched(course: Course, budget: Budget) -> tuple[list[Bound], str]:
    """Go through the parts of the plan; what was exhausted, and why it was broken off, if it was."""
    until, left = monotonic() + budget.seconds, AFTER_A_FINDING
    bounds = [Bound(part.name, part.bound, 0, False) for part in course.plan(budget.effort, budget.seed)]
    for part, bound in zip(course.plan(budget.effort, budget.seed), bounds, strict=True):
        if course.broken and not part.naming:
            continue
        for _ in part.work():
            bound.sessions += 1
            if why := _over(course.held, until, budget.seconds):
                return bounds, why
            left -= course.broken
            if left <= 0:
                return bounds, ""
        bound.exhausted = True
    return bounds, ""


def _over(held: IsolatedImplementation, until: float, seconds: float) -> str:
    timeouts = sum(end.kind == "timeout" for end in held.ends)
    if timeouts >= MOST_TIMEOUTS:
        return f"it timed out {timeouts} times"
    if len(held.ends) >= MOST_DEATHS:
        return f"its process ended {len(held.ends)} times"
    return f"it took more than {seconds:g} seconds in all" if monotonic() > until else ""


def _report(name: ProfileName, course: Course, bounds: list[Bound], ended: str) -> ProfileReport:
    promises = [_promise(course, label) for label in course.catalogue]
    told = [p for p in promises if p.status in ("holds", "violated") and p.level == "MUST"]
    kept = sum(promise.status == "holds" for promise in told)
    score = Score(kept, len(told), round(kept / len(told), 4) if told else 0.0)
    verdict, reason = _verdict(course, promises, bounds, ended)
    return ProfileReport(name, verdict, reason, dict(vars(course.dialect)), score, promises, bounds, course.runs)


def _promise(course: Course, label: str) -> PromiseReport:
    invariant, judged = course.catalogue[label], course.judged(label)
    example = None
    with suppress(KeyError):
        example = course.example(label)
    status: Any = "violated" if example else "holds" if judged else "not judged"
    blocked = course.blocked(label) if status == "not judged" else []
    return PromiseReport(label, invariant.level, status, invariant.evidence, judged, blocked, example)


def _verdict(
    course: Course, promises: list[PromiseReport], bounds: list[Bound], ended: str
) -> tuple[VerdictClass, str]:
    broken = [promise for promise in promises if promise.status == "violated" and promise.level == "MUST"]
    if broken:
        first = broken[0]
        more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
        reason = f"{first.name} violated {first.example.place if first.example else ''}{more}"
        kinds = {end.kind for end in course.held.ends}
        only_ends = all(promise.name.endswith(("stream/ends", "run/ends")) for promise in broken)
        if only_ends and kinds:
            return ("timeout" if "timeout" in kinds else "crashed"), ended or reason
        return "nonconforming", reason
    if ended:
        return "timeout", ended
    wanting = [p.name for p in promises if p.level == "MUST" and p.status == "not judged"]
    if wanting or not all(bound.exhausted for bound in bounds):
        return "referee-error", f"nothing was found wrong, and {', '.join(wanting) or 'a leg'} was not judged"
    return "conforming", "every MUST was judged and holds"


def line(report: ProfileReport) -> LineReport:
    """The line of the rubric that a profile adds."""
    broken = [p.name for p in report.invariants if p.status == "violated" and p.level == "MUST"]
    title = TITLES[report.profile]
    if report.verdict == "conforming":
        return LineReport(report.profile, title, "passed", 1)
    graded = report.verdict in ("nonconforming", "crashed", "timeout")
    return LineReport(report.profile, title, "failed" if graded else "not graded", 1, broken)
