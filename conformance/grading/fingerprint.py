"""What a verdict depends on, as digests: a candidate's files, and the kit that grades it."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distributions, version
from pathlib import Path

import conformance
import reference
from conformance.grading.isolated_targets import is_file, package, split
from conformance.targets import TargetError

MATTER = ("msgspec", "hypothesis")  # the packages that have a say in what is asked, or in how it is read
LARGEST_TREE = 256 * 2**20  # bytes of a package that are hashed


@cache
def kit(*, packages: bool = False) -> str:
    """Digest of what grades: our own source files, Python, and the packages that matter; or all that are installed."""
    digest = hashlib.sha256()
    for module in (reference, conformance):
        home = Path(str(module.__file__)).parent
        for path in sorted(home.rglob("*.py")):
            name = path.relative_to(home)
            if name.parts[0] != "meta" and not path.stem.startswith("test_"):
                _add(digest, f"{home.name}/{name.as_posix()}", path.read_bytes())
    _add(digest, platform.python_implementation(), ".".join(platform.python_version_tuple()[:2]).encode())
    for package_name in MATTER:
        _add(digest, package_name, version(package_name).encode())
    if packages:
        _add(digest, "installed", _installed().encode())
    return digest.hexdigest()


def fingerprint(target: str) -> str | None:
    """Digest of a candidate; of a file it is the SHA-256 that other tools give. None where it cannot be told.

    It covers what the sandbox shows of it: the file; the folder of a module, and which packages are
    installed; the words of a command, and the files among them. A folder among them cannot be told.
    """
    try:
        if target.startswith("exec:"):
            return _program(target.removeprefix("exec:"))
        place, function = split(target)
        if is_file(target):
            return of_source(Path(place).read_bytes(), function)
        return _module(target, place)
    except (OSError, ValueError, TargetError):
        return None


def of_source(source: bytes, function: str = "generate") -> str:
    """Digest of a Python file's bytes, and of the function in it that is graded."""
    digest = hashlib.sha256(source).hexdigest()
    return digest if function == "generate" else f"{digest}:{function}"


def _program(command: str) -> str | None:
    words = shlex.split(command)
    found = shutil.which(words[0])
    digest = hashlib.sha256()
    for word in [found or words[0], *words[1:]]:
        if os.path.isdir(word):
            return None
        _add(digest, word, Path(word).read_bytes() if os.path.isfile(word) else b"")
    return f"program:{digest.hexdigest()}"


def _module(target: str, place: str) -> str | None:
    digest = hashlib.sha256()
    _add(digest, target, _installed().encode())
    home, size = package(place)[1], 0
    for path in _tree(home):
        size += path.stat().st_size
        if size > LARGEST_TREE:
            return None
        _add(digest, str(path.relative_to(home.parent)), path.read_bytes())
    return f"module:{digest.hexdigest()}"


def _tree(home: Path) -> Iterator[Path]:
    if home.is_file():
        yield home
        return
    for path in sorted(home.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


@cache
def _installed() -> str:
    return "\n".join(sorted({f"{found.name}=={found.version}" for found in distributions()}))


def _add(digest: hashlib._Hash, name: str, data: bytes) -> None:
    """Add a name and its data so that no two ways of cutting them give the same."""
    for part in (name.encode(errors="surrogateescape"), data):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
