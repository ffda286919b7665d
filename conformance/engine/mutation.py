"""The reference with one thing changed, and the files of this profile's variants, for the suite's own tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import reference.engine
from conformance.engine.targets import Subject
from conformance.invariant import Mutant
from conformance.targets import parse_dialect

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(reference.engine.__file__).read_text(encoding="utf-8")


def changed(name: str, source: str, dialect: str = "") -> Subject:
    """An engine made of source text."""

    def again() -> ModuleType:
        module = ModuleType(f"changed_engine_{abs(hash(source))}")
        sys.modules[module.__name__] = module  # its dataclass looks its module up
        exec(compile(source, name, "exec"), module.__dict__)
        return module

    return Subject(name, again(), parse_dialect(dialect), again)


def mutated(name: str, mutant: Mutant) -> Subject:
    """The reference with a mutant's replacement. Raises ValueError unless `find` occurs exactly once."""
    count = SOURCE.count(mutant.find)
    if count != 1:
        raise ValueError(f"a mutant of {name} should match once and matches {count} times: {mutant.find!r}")
    return changed(name, SOURCE.replace(mutant.find, mutant.replace), mutant.dialect)


def modules(folder: str) -> Iterator[str]:
    """The dotted names of this profile's variants in a folder of the repository."""
    for path in sorted((ROOT / folder).glob("engine_*.py")):
        yield f"{folder.replace('/', '.')}.{path.stem}"
