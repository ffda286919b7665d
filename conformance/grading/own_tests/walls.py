"""The two sandboxes of an encounter: what the tests see, and what an implementation sees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import reference
from conformance.grading import sandbox_bubblewrap
from conformance.grading.isolated_targets import NOUNS, VOCABULARY, _folder, _installed, _suite
from conformance.grading.sandbox import Sandbox, View, layers
from conformance.grading.sandbox_limits import MIB, Limits
from reference.vocabulary import Dialect

HERE = Path(__file__).parent
INSIDE, TESTS, IMPLEMENTATION = "/slotspec/inside", "/tests", "/implementation/solution.py"
CLIENTS = ("client.py", "client_profiles.py")
OURS = {
    name: f"conformance/grading/own_tests/{name}.py" for name in ("errors", "objects", "line", "near", "far", "session")
}
BOOT = (
    "import sys; end = sys.argv.index('--'); sys.path[:0] = sys.argv[1:3]; sys.path += sys.argv[3:end]; "
    "given = sys.argv[end + 1:]; del sys.argv[1:]; from conformance.grading.own_tests.{} import main; main(given)"
)
TESTS_LIMITS = Limits()
# Room for a thread a slot: a stack takes address space, and little memory.
IMPLEMENTATION_LIMITS = Limits(address_space=4096 * MIB, data=2048 * MIB, processes=1024, memory_total=512 * MIB)


def of_tests(place: Path, module: str, seed: int) -> Sandbox:
    """Where the file of tests runs, with pytest and all else that is installed, the suite excepted."""
    shown = _shown("near", "session") | {f"{TESTS}/{place.name}": place}
    installed = {f"/installed/{number}": folder for number, folder in enumerate(_installed())}
    alone = "alone" if "own-processes" in layers() else ""

    def command(root: str) -> list[str]:
        return _line(root, "session", [*installed], [f"{root}{TESTS}/{place.name}", module, str(seed), alone])

    return Sandbox(command, View(shown | installed, _suite()), TESTS_LIMITS)


def of_implementation(place: Path, dialect: Dialect) -> Sandbox:
    """Where an implementation runs: a file whose name says nothing, and the nouns."""
    shown = _shown("far") | {IMPLEMENTATION: place}

    def command(root: str) -> list[str]:
        return _line(root, "far", [], [root + IMPLEMENTATION, json.dumps(list(vars(dialect).items()))])

    return Sandbox(command, View(shown, _suite()), IMPLEMENTATION_LIMITS)


def _shown(*names: str) -> dict[str, Path]:
    shown = {f"{INSIDE}/conformance/grading/{name}": HERE.parent / name for name in CLIENTS}
    shown |= {f"{INSIDE}/{OURS[name]}": HERE / f"{name}.py" for name in ("errors", "objects", "line", *names)}
    return shown | {f"{NOUNS}/reference/{file}": _folder(reference) / file for file in VOCABULARY}


def _line(root: str, main: str, paths: Sequence[str], arguments: Sequence[str]) -> list[str]:
    start = [sandbox_bubblewrap.interpreter(), "-I", "-S", "-B", "-c", BOOT.format(main)]
    return [*start, root + INSIDE, root + NOUNS, *(root + path for path in paths), "--", *arguments]
