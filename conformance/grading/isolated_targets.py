"""From the name of a target to a sandbox that shows just that, and what must be hidden around it."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import conformance
import reference
import variants
from conformance.grading import sandbox_bubblewrap
from conformance.grading.sandbox import Sandbox, View
from conformance.grading.sandbox_limits import Limits
from conformance.targets import TargetError

SLOTSPEC, CANDIDATE, PACKAGES = "/slotspec", "/candidate", "/packages"
CLIENTS = ("client.py", "client_profiles.py")
CLIENT, NOUNS = f"{SLOTSPEC}/{CLIENTS[0]}", f"{SLOTSPEC}/nouns"
VOCABULARY = ("__init__.py", "vocabulary.py")


def sandbox_for(
    target: str, *, limits: Limits | None = None, require: Sequence[str] = (), packages: bool = False
) -> tuple[Sandbox, dict[str, str]]:
    """Choose what a target needs to see. Also returns which paths inside stand for which the user knows.

    `packages` shows the installed packages to a file. Raises TargetError for a target that is not there.
    """
    if target.startswith("exec:"):
        command, view, names = _program(target)
        # A virtual machine reserves far more address space than it uses; the limit on data still holds.
        limits = replace(limits or Limits(), address_space=0)
    else:
        command, view, names = _python(target, packages)
    return Sandbox(command, view, limits or Limits(), tuple(require)), names


def split(target: str) -> tuple[str, str]:
    """Take `place:function` apart; without a function it is `generate`."""
    place, colon, function = target.rpartition(":")
    return (place, function) if colon and function.isidentifier() else (target, "generate")


def is_file(target: str) -> bool:
    """Whether a target names a Python file, rather than a module or a program."""
    place, _ = split(target)
    return not target.startswith("exec:") and (place.endswith(".py") or os.sep in place)


def _folder(module: object) -> Path:
    return Path(str(module.__file__)).resolve().parent  # type: ignore[attr-defined]


def _suite() -> tuple[Path, ...]:
    return tuple(_folder(module) for module in (conformance, reference, variants))


def _python(target: str, packages: bool) -> tuple[Callable[[str], list[str]], View, dict[str, str]]:
    place, function = split(target)
    shown = {f"{SLOTSPEC}/{name}": Path(__file__).with_name(name) for name in CLIENTS}
    paths = [NOUNS]
    if place.endswith(".py") or os.sep in place:
        path = Path(place).resolve()
        if not path.is_file():
            raise TargetError(f"{place}: there is no such file; a target is a module, module:function, or a .py file")
        how, name = "file", f"{CANDIDATE}/{path.name}"
        shown[name] = path
        names = {name: place}
    else:
        how, name, packages = "name", place, True
        top, path = package(place)
        shown[f"{PACKAGES}/{path.name if path.is_file() else top}"] = path
        paths = [NOUNS, PACKAGES] if top != "reference" else [PACKAGES]
        names = {PACKAGES: str(path.parent)}
    if NOUNS in paths:
        shown |= {f"{NOUNS}/reference/{file}": _folder(reference) / file for file in VOCABULARY}
    if packages:
        for number, folder in enumerate(_installed()):
            shown[f"/installed/{number}"] = folder
            paths.append(f"/installed/{number}")

    def command(root: str) -> list[str]:
        inside = root + name if how == "file" else name
        options = ["-I", "-S", "-B", root + CLIENT, how, inside, function]
        return [sandbox_bubblewrap.interpreter(), *options, *(root + path for path in paths)]

    return command, View(shown, _suite()), names


def package(place: str) -> tuple[str, Path]:
    """Find the folder or file of a name's top package, without running any of its code."""
    top = place.partition(".")[0]
    here = os.getcwd()
    added = here not in sys.path and "" not in sys.path
    if added:
        sys.path.append(here)
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    finally:
        if added:
            sys.path.remove(here)
    if spec is not None and spec.submodule_search_locations:
        return top, Path(next(iter(spec.submodule_search_locations))).resolve()
    if spec is not None and spec.origin and os.path.isfile(spec.origin):
        return top, Path(spec.origin).resolve()
    hint = "; a path should end in .py" if Path(f"{place}.py").exists() else ""
    raise TargetError(f"{place}: no module named {top!r} was found{hint}")


def _installed() -> list[Path]:
    found = [Path(path).resolve() for path in sys.path if path.endswith("-packages")]
    return [path for path in found if path.is_dir()]


def _program(target: str) -> tuple[Callable[[str], list[str]], View, dict[str, str]]:
    try:
        words = shlex.split(target.removeprefix("exec:"))
    except ValueError as error:
        raise TargetError(f"{target}: {error}") from None
    found = shutil.which(words[0]) if words else None
    if found is None:
        raise TargetError(f"{target}: no program {words[0] if words else ''!r} was found")
    shown: dict[str, Path] = {}
    program = os.path.realpath(found)
    line: list[tuple[bool, str]] = [(False, program)]
    if not program.startswith("/usr/"):
        home = Path(program).parent
        shown[str(home.parent if home.name == "bin" else program)] = (
            home.parent if home.name == "bin" else Path(program)
        )
    for number, word in enumerate(words[1:]):
        if os.path.exists(word):
            inside = f"{CANDIDATE}/{number}/{Path(word).resolve().name}"
            shown[inside] = Path(word).resolve()
            line.append((True, inside))
        else:
            line.append((False, word))

    def command(root: str) -> list[str]:
        return [root + word if is_inside else word for is_inside, word in line]

    return command, View(shown, _suite(), python=False, system=True), {}
