"""The adapters in `variants/engines`: which there are, what each declares, and which of them can run here."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.engine.drive import Make, maker
from conformance.engines.weaker import Declared, PolicyError, declared
from conformance.targets import TargetError
from reference.vocabulary import Dialect

FOLDER = Path(__file__).resolve().parents[2] / "variants" / "engines"
PACKAGE = "variants.engines"
Pure = Callable[[tuple[int, ...]], int]


@dataclass(frozen=True)
class Adapter:
    """An engine to study. Its module is loaded once, as its model is heavy: `fresh` makes engines of the same module.

    `refuses` says what its engine does not take, by words, with the reason; `pure` is the language model where the
    engine has one of its own that cannot be played, and `vocabulary` how many different tokens fit into it; `unseen`
    says of which promises nothing can be observed through it, with the reason.
    """

    name: str
    module: ModuleType
    dialect: Dialect
    engine: str
    versions: dict[str, str]
    policy: tuple[Declared, ...]
    refuses: dict[str, str]
    pure: Pure | None = None
    vocabulary: int | None = None
    unseen: Mapping[str, str] = field(default_factory=dict)

    @property
    def stem(self) -> str:
        return self.name.rpartition(".")[2]

    def make(self) -> Make:
        return maker(self.module, self.dialect)

    def fresh(self) -> Make:
        return self.make()


def names() -> dict[str, dict[str, Any]]:
    """Every adapter by its module's name, with its plain constants, read without importing it."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        constants = _constants(path)
        if "ENGINE" in constants:
            found[f"{PACKAGE}.{path.stem}"] = constants
    return found


def _constants(path: Path) -> dict[str, Any]:
    constants = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id.isupper() and isinstance(node, ast.Assign | ast.AnnAssign):
            try:
                constants[target.id] = ast.literal_eval(node.value)  # type: ignore[arg-type]
            except ValueError:
                continue
    return constants


def lacking(constants: Mapping[str, Any]) -> list[str]:
    """The packages of an adapter that are not installed."""
    missing = []
    for package in constants.get("PACKAGES", ()):
        try:
            metadata.version(package)
        except metadata.PackageNotFoundError:
            missing.append(package)
    return missing


def how_to_install(constants: Mapping[str, Any]) -> str:
    """The command that brings an adapter's engine."""
    return str(constants.get("INSTALL") or f"pip install 'slotspec[{constants.get('EXTRA', '')}]'")


def adapter(name: str) -> Adapter:
    """Load an adapter by its module's name, or by its last part. Raises TargetError where it cannot be had."""
    known = names()
    full = name if name in known else f"{PACKAGE}.{name}"
    if full not in known:
        raise TargetError(f"{name}: no such adapter; there are {', '.join(n.rpartition('.')[2] for n in known)}")
    if missing := lacking(known[full]):
        raise TargetError(f"{full}: {', '.join(missing)} not installed; {how_to_install(known[full])}")
    return described(full, importlib.import_module(full))


def described(name: str, module: ModuleType) -> Adapter:
    """Read what an adapter's module declares. Raises TargetError where its `POLICY` cannot be read."""
    try:
        policy = declared(getattr(module, "POLICY", {}))
    except PolicyError as error:
        raise TargetError(f"{name}: {error}") from None
    versions = {package: metadata.version(package) for package in getattr(module, "PACKAGES", ())}
    return Adapter(
        name,
        module,
        Dialect(**getattr(module, "DIALECT", {})),
        module.ENGINE,
        versions,
        policy,
        dict(getattr(module, "REFUSES", {})),
        getattr(module, "PURE_MODEL", None),
        getattr(module, "VOCABULARY", None),
        dict(getattr(module, "UNSEEN", {})),
    )
