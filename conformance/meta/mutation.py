"""Implementations with one thing changed: mutants of the reference, and files of flawed variants."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import reference.generate
from conformance.invariant import Mutant
from conformance.targets import LocalImplementation, parse_dialect
from reference.vocabulary import Dialect

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(reference.generate.__file__).read_text(encoding="utf-8")


class Changed(LocalImplementation):
    """The reference with its source changed; `fresh` executes the changed source again."""

    def __init__(self, name: str, source: str, dialect: Dialect) -> None:
        module = ModuleType(f"changed_{abs(hash(name))}")
        sys.modules[module.__name__] = module  # its dataclass looks its module up
        exec(compile(source, name, "exec"), module.__dict__)
        self._source = source
        super().__init__(name, module, "generate", dialect)

    def fresh(self) -> Changed:
        return Changed(self.name, self._source, self.dialect)


def mutated(name: str, mutant: Mutant) -> Changed:
    """The reference with a mutant's replacement. Raises ValueError unless `find` occurs exactly once."""
    count = SOURCE.count(mutant.find)
    if count != 1:
        raise ValueError(f"a mutant of {name} should match once and matches {count} times: {mutant.find!r}")
    return Changed(name, SOURCE.replace(mutant.find, mutant.replace), parse_dialect(mutant.dialect))


def modules(folder: str) -> Iterator[str]:
    """The dotted names of the core's variants in a folder of the repository."""
    for path in sorted((ROOT / folder).glob("*.py")):
        if path.stem != "__init__" and not path.stem.startswith(("engine_", "cached_", "fair_")):
            yield f"{folder.replace('/', '.')}.{path.stem}"
