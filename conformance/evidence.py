"""All legs in their order, for one implementation: what the pytest entry asks for each promise."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from conformance.catalogue import CATALOGUE
from conformance.legs import search
from conformance.study import LEGS, Finding, Study, judged_runs
from conformance.targets import Implementation

PREVIEW = 3  # legs that together take less than a second


@dataclass
class Evidence:
    """The study of `implementation`, and how far it has come. `examples` random workloads are tried."""

    implementation: Implementation
    examples: int = 150

    @cached_property
    def study(self) -> Study:
        return Study(self.implementation)

    @cached_property
    def _legs(self) -> list[str]:
        return [leg.name for leg in LEGS] + ["random", "machine", "scale", "settle"]

    def run_next(self) -> bool:
        """Run the next leg; False when none is left."""
        if not self._legs:
            return False
        name = self._legs.pop(0)
        for leg in LEGS:
            if leg.name == name:
                self.study.search(leg)
        if name == "random" and not self.study.broken:
            search.random_workloads(self.study, self.examples)
        if name == "machine" and not self.study.broken:
            search.state_machine(self.study, self.examples // 2)
        if name == "scale" and not self.study.broken:
            search.scale(self.study)
        if name == "settle":
            self.study.settle()
        return True

    def preview(self) -> set[str]:
        """Run the quick legs until one shows something; the promises that are broken so far."""
        while not self.study.broken and len(self._legs) > len(LEGS) + 4 - PREVIEW:
            self.run_next()
        return {name for name in self.study.findings if CATALOGUE[name].level == "MUST"}

    def about(self, invariant: str) -> Finding | None:
        """Run legs until `invariant` is seen broken, or all are through."""
        while invariant not in self.study.findings and self.run_next():
            pass
        return self.study.findings.get(invariant)

    def judged(self, invariant: str) -> int:
        return judged_runs(self.study, invariant)

    def blocked_by(self, invariant: str) -> str:
        """Name what kept `invariant` from being judged."""
        names = self.study.blocked.get(invariant, Counter())
        return ", ".join(sorted(names)) or "nothing that was run"

    def summary(self) -> list[str]:
        """What was run and what was found, in a few lines."""
        lines = [f"{self.study.runs} runs; through: {', '.join(self.study.through) or 'no leg yet'}"]
        for level in ("MUST", "SHOULD"):
            broken = sorted(n for n in self.study.findings if CATALOGUE[n].level == level)
            lines += [f"{level} broken: {', '.join(broken)}"] if broken else []
        return lines
