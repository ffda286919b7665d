"""All legs in their order, for one engine with a quantum: what the pytest entry asks for each promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from conformance.fair import search
from conformance.fair.study import LEGS, Finding, Study
from conformance.fair.targets import Studied


@dataclass
class Evidence:
    """The study of `subject`, and how far it has come. `examples` random scripts are tried."""

    subject: Studied
    examples: int = 150

    @cached_property
    def study(self) -> Study:
        return Study(self.subject)

    @cached_property
    def _parts(self) -> list[Callable[[], None]]:
        study = self.study
        legs: list[Callable[[], None]] = [lambda leg=leg: study.search(leg) for leg in LEGS]  # type: ignore[misc]
        wide: list[Callable[[], None]] = [
            lambda: None if study.broken else search.random_scripts(study, self.examples),
            lambda: None if study.broken else search.state_machine(study, self.examples // 3),
        ]
        return legs + wide

    def about(self, name: str) -> Finding | None:
        """Run legs until the promise is seen broken, or all are through."""
        while name not in self.study.findings and self._parts:
            self._parts.pop(0)()
        return self.study.findings.get(name)

    def blocked_by(self, name: str) -> str:
        """Name what kept a promise from being judged."""
        return ", ".join(sorted(self.study.blocked.get(name, {}))) or "nothing that was run"
