"""The reference with one thing changed, for the suite's own tests."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import reference.cached
from conformance.cached.targets import OFFERED
from conformance.invariant import Mutant
from conformance.targets import LocalImplementation, parse_dialect
from reference.vocabulary import Dialect

SOURCE = Path(reference.cached.__file__).read_text(encoding="utf-8")


class Changed(LocalImplementation):
    """An implementation made of source text; `fresh` executes the text again."""

    def __init__(self, name: str, source: str, dialect: Dialect) -> None:
        module = ModuleType(f"changed_cached_{abs(hash(source))}")
        sys.modules[module.__name__] = module  # its dataclass looks its module up
        exec(compile(source, name, "exec"), module.__dict__)
        self._source = source
        super().__init__(name, module, OFFERED, dialect)

    def fresh(self) -> Changed:
        return Changed(self.name, self._source, self.dialect)


def mutated(name: str, mutant: Mutant) -> Changed:
    """The reference with a mutant's replacement. Raises ValueError unless `find` occurs exactly once."""
    count = SOURCE.count(mutant.find)
    if count != 1:
        raise ValueError(f"a mutant of {name} should match once and matches {count} times: {mutant.find!r}")
    return Changed(name, SOURCE.replace(mutant.find, mutant.replace), parse_dialect(mutant.dialect))
