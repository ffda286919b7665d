"""All legs in their order, for one implementation: what the pytest entry asks for each promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from conformance.cached import search
from conformance.cached.legs import LEGS, WIDE, Leg
from conformance.cached.study import Finding, Study
from conformance.cached.targets import Studied


@dataclass
class Evidence:
    """The study of `implementation`, and how far it has come. `examples` random workloads are tried."""

    implementation: Studied
    examples: int = 150
    legs: tuple[Leg, ...] = (*LEGS, WIDE)

    @cached_property
    def study(self) -> Study:
        return Study(self.implementation)

    @cached_property
    def _parts(self) -> list[Callable[[], None]]:
        study = self.study
        legs = [lambda leg=leg: study.search(leg) for leg in self.legs]
        searches: list[Callable[[], None]] = [
            lambda: search.random_workloads(study, self.examples),
            lambda: search.state_machine(study, self.examples // 2),
            lambda: search.scale(study),
        ]
        return [*legs, *[lambda run=run: None if study.broken else run() for run in searches]]

    def run_next(self) -> bool:
        """Run the next leg; False when all are through."""
        if self._parts:
            self._parts.pop(0)()
        return bool(self._parts)

    def about(self, name: str) -> Finding | None:
        """Run legs until the promise is seen broken, or all are through."""
        while name not in self.study.findings and self._parts:
            self.run_next()
        return self.study.findings.get(name)

    def blocked_by(self, name: str) -> str:
        """Name what kept a promise from being judged."""
        return ", ".join(sorted(self.study.blocked.get(name, {}))) or "nothing that was run"
