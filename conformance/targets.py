"""From a name to an implementation: the only place where that happens.

A target is a dotted module, `module:function`, or the path of a Python file. A file is loaded under a
private name and its folder is never put on the import path, so it can neither shadow a module of
ours nor collide with another file of its name.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from conformance.history import Run
from conformance.run import Generate, drive_session
from conformance.workloads import Session
from reference.vocabulary import Dialect

REFERENCE = "reference.generate"
PROFILES = ("generate_cached", "Engine")  # a module that offers one of these need offer no `generate`


class TargetError(Exception):
    """A target that cannot be used; the message is one line that says what was looked for."""


class Implementation(Protocol):
    """Something that can be run: in this process, or behind the wire."""

    name: str
    dialect: Dialect

    def run(self, session: Session) -> list[Run]:
        """Run the workloads of a session in order; state that the implementation keeps may pass between them."""

    def fresh(self) -> Implementation:
        """Return the same implementation with nothing left of earlier runs."""


class LocalImplementation:
    """An implementation in this process. `fresh` executes its module again."""

    def __init__(self, name: str, module: ModuleType, function: str, dialect: Dialect | None) -> None:
        self.name, self._module, self._function, self._chosen = name, module, function, dialect
        self.dialect = dialect or declared(module, name)
        self._generate = self._entry()

    def _entry(self) -> Generate:
        generate = getattr(self._module, self._function, None)
        if not callable(generate):
            if self._function == "generate" and any(map(self.offers, PROFILES)):
                return self._absent
            raise TargetError(f"{self.name}: no callable {self._function!r} in {origin(self._module)}")
        if "dialect" in _parameters(generate):
            return partial(generate, dialect=self.dialect)
        return generate  # type: ignore[no-any-return]

    def _absent(self, *arguments: Any) -> Any:
        raise TargetError(f"{self.name} offers no `generate`")

    def offers(self, name: str) -> bool:
        """Whether the module has something to call under this name."""
        return callable(getattr(self._module, name, None))

    @property
    def generate(self) -> Generate:
        return self._generate

    @property
    def has_generate(self) -> bool:
        """False for a module that answers a follow-up question only."""
        return self.offers(self._function)

    @property
    def module(self) -> ModuleType:
        return self._module

    def run(self, session: Session) -> list[Run]:
        return drive_session(self._generate, session)

    def fresh(self) -> LocalImplementation:
        return LocalImplementation(self.name, _again(self._module), self._function, self._chosen)


def load(target: str, dialect: Dialect | None = None) -> LocalImplementation:
    """Load a target. Raises TargetError, with what was looked for, when it cannot be had."""
    place, function = _split(target)
    is_file = place.endswith(".py") or os.sep in place
    module = _from_file(place) if is_file else _from_name(place)
    return LocalImplementation(target, module, function, dialect)


def declared(module: ModuleType, name: str) -> Dialect:
    """Read the module's `DIALECT`; the axes that it does not name take their defaults."""
    chosen: Any = getattr(module, "DIALECT", {})
    try:
        return Dialect.of(chosen if isinstance(chosen, Mapping) else {"": chosen})
    except ValueError as error:
        raise TargetError(f"{name}: DIALECT: {error}") from None


def parse_dialect(text: str, base: Dialect | None = None) -> Dialect:
    """Read `stop_token=excluded,max_tokens=total`; axes that are not named keep the value of `base`."""
    chosen = dict(vars(base or Dialect()))
    for part in filter(None, text.split(",")):
        axis, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"a dialect reads axis=value, not {part!r}")
        chosen[axis.strip()] = value.strip()
    return Dialect.of(chosen)


def origin(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or module.__name__


def _parameters(generate: Generate) -> Mapping[str, Any]:
    try:
        return inspect.signature(generate).parameters
    except (TypeError, ValueError):
        return {}


def _split(target: str) -> tuple[str, str]:
    place, colon, function = target.rpartition(":")
    if colon and function.isidentifier():
        return place, function
    return target, "generate"


def _from_file(place: str) -> ModuleType:
    path = Path(place).resolve()
    if not path.is_file():
        raise TargetError(f"{place}: there is no such file; a target is a module, module:function, or a .py file")
    name = f"slotspec_target_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{place}: not a Python file; a target is a module, module:function, or a .py file")
    return _executed(spec, place)


def _from_name(place: str) -> ModuleType:
    # The user's own packages are found in the current folder, but after ours, which a folder named
    # `reference/` there must not shadow.
    here = os.getcwd()
    added = here not in sys.path and "" not in sys.path
    if added:
        sys.path.append(here)
    used = place in sys.modules  # by somebody in this process, who may have left something behind
    try:
        module = importlib.import_module(place)
        return _again(module) if used else module
    except TargetError:
        raise
    except ModuleNotFoundError as error:
        hint = "; a path should end in .py" if Path(f"{place}.py").exists() else ""
        raise TargetError(f"{place}: no module named {error.name!r} was found{hint}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise TargetError(f"{place}: importing it failed with {type(error).__name__}: {_line(error)}") from None


def _again(module: ModuleType) -> ModuleType:
    """Execute a module once more, beside the first; what it imported is shared."""
    spec = module.__spec__
    if spec is None or spec.loader is None or not spec.origin:
        return module
    again = importlib.util.spec_from_file_location(module.__name__, spec.origin)
    if again is None:
        return module
    return _executed(again, module.__name__, register=False)


def _executed(spec: Any, place: str, *, register: bool = True) -> ModuleType:
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        sys.modules.pop(spec.name, None)
        raise TargetError(f"{place}: loading it failed with {type(error).__name__}: {_line(error)}") from None
    if not register and before is not None:
        sys.modules[spec.name] = before
    return module


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
