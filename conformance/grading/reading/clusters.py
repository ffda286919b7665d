"""Failures that have one explanation: the same promise broken first, by a counterexample of the same shape.

The shape forgets names, token values and counts of no meaning; two programs with the same fault written
differently meet the same smallest counterexample, as the small scope is searched in one order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from conformance.grading.schema import (
    Counterexample,
    InvariantReport,
    ProfileExample,
    ScriptData,
    Verdict,
    WorkloadData,
)

QUOTED, LISTED, NUMBER = re.compile(r"'[^']*'|\"[^\"]*\""), re.compile(r"\[[^\[\]]*\]|\([^()]*\)"), re.compile(r"-?\d+")


class Key(NamedTuple):
    """What the members of a cluster have in common. `promise` is empty for what could not be examined."""

    verdict: str
    promise: str
    shape: str
    observed: str


@dataclass
class Cluster:
    """One explanation. `first` is the verdict of its first member, which is shown for all; `size` counts them."""

    key: Key
    words: str
    first: Verdict
    members: list[str] = field(default_factory=list)
    number: int = 0

    @property
    def size(self) -> int:
        return len(self.members)


def plain(text: str) -> str:
    """A sentence without the names, lists and numbers that differ between candidates."""
    return NUMBER.sub("#", LISTED.sub("[..]", QUOTED.sub("'..'", text)))


def key_of(verdict: Verdict) -> Key | None:
    """The cluster that a verdict belongs to; None for one that conforms."""
    if verdict.verdict == "conforming":
        return None
    charged = first_charged(verdict)
    if charged is not None and charged.counterexample is not None:
        example = charged.counterexample
        return Key(verdict.verdict, charged.name, shape(example), plain(example.observed))
    for report in verdict.profiles:
        for promise in report.invariants:
            if promise.level == "MUST" and promise.example is not None:
                name = promise.name if ":" in promise.name else f"{report.profile}:{promise.name}"
                return Key(verdict.verdict, name, life(promise.example), plain(promise.example.observed))
    return Key(verdict.verdict, "", "", plain(verdict.reason.replace(verdict.candidate.target, "..")))


def first_charged(verdict: Verdict) -> InvariantReport | None:
    """The MUST that is named first: reports are in the order of the rubric."""
    return next((r for r in verdict.invariants if r.charge == "charged" and r.level == "MUST"), None)


def shape(example: Counterexample) -> str:
    """A counterexample without its tokens and names."""
    session = example.session
    parts = [_workload(session.workloads[example.run])]
    if session.nested:
        parts.append("one run inside the other")
    elif example.run:
        parts.append("after other runs")
    at_end = example.place.startswith("at the end")
    return "; ".join([*parts, "seen at the end" if at_end else "seen in a call"])


def _workload(workload: WorkloadData) -> str:
    slots = f"{workload.num_slots} slot{'s' * (workload.num_slots != 1)}"
    requests = [_request(row, workload.stop_token) for row in workload.requests]
    fault = f"; the model {workload.fault[0]}" if workload.fault else ""
    return f"{slots}: {', '.join(requests) or 'no request'}{fault}"


def _request(row: tuple[str, list[int], int, list[int]], stop: int) -> str:
    _, prompt, limit, replies = row
    told = replies[: max(0, limit)]
    ends = f"stop at {told.index(stop) + 1}" if stop in told else "no stop"
    return f"({'empty prompt, ' if not prompt else ''}limit {limit}, {ends})"


def life(example: ProfileExample) -> str:
    """A profile's counterexample without its tokens and names."""
    if example.script is not None:
        return _script(example.script)
    if example.session is not None:
        return _workload(example.session.workloads[-1])
    return ""


def _script(script: ScriptData) -> str:
    moves = [f"{what} {'in a call' if where == 'call' else 'before a step'}" for where, _, what, _, _ in script.moves]
    return f"{script.num_slots} slot{'s' * (script.num_slots != 1)}: {', '.join(moves) or 'nothing happens'}"


def words_of(verdict: Verdict, key: Key) -> str:
    """One line for people: the promise, what was due, what came."""
    charged = first_charged(verdict)
    example = charged.counterexample if charged else None
    if example is not None:
        return f"{key.promise}: expected {example.expected}; observed {example.observed}"
    if key.promise:
        found = [p.example for report in verdict.profiles for p in report.invariants if p.level == "MUST" and p.example]
        return f"{key.promise}: expected {found[0].expected}; observed {found[0].observed}"
    return f"{verdict.verdict}: {verdict.reason}"


class Clusters:
    """Sorts verdicts as they come; of each cluster one verdict is kept."""

    def __init__(self, verdicts: Iterable[Verdict] = ()) -> None:
        self._found: dict[Key, Cluster] = {}
        for verdict in verdicts:
            self.add(verdict)

    def add(self, verdict: Verdict) -> Cluster | None:
        """Put a verdict where it belongs; None for one that conforms."""
        key = key_of(verdict)
        if key is None:
            return None
        if key not in self._found:
            self._found[key] = Cluster(key, words_of(verdict, key), verdict)
        self._found[key].members.append(verdict.candidate.target)
        return self._found[key]

    def ordered(self) -> list[Cluster]:
        """The large ones first; numbered from 1 in this order."""
        found = sorted(self._found.values(), key=lambda cluster: (-cluster.size, cluster.key))
        for number, cluster in enumerate(found, 1):
            cluster.number = number
        return found
