"""The pytest entry: which implementation, in which dialect, in which process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from conformance.evidence import Evidence
from conformance.targets import REFERENCE, TargetError, load, parse_dialect
from reference.vocabulary import Dialect

HERE = Path(__file__).parent
MARKERS = (
    "slow: takes more than a few seconds; runs only where -m names it",
    "crosshair_backend: runs under Hypothesis' CrossHair backend, which is an extra; runs only where -m names it",
)
ON_DEMAND = [marker.partition(":")[0] for marker in MARKERS]
EVIDENCE = pytest.StashKey[Evidence]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("slotspec")
    group.addoption(
        "--impl",
        default=None,
        metavar="TARGET",
        help="module, module:function, file.py or 'exec:COMMAND'; default: the reference",
    )
    group.addoption(
        "--dialect", default="", metavar="AXIS=VALUE,...", help="overrides what the implementation declares in DIALECT"
    )
    group.addoption(
        "--isolated", action="store_true", help="run the implementation in a process of its own, in a sandbox"
    )
    group.addoption(
        "--should",
        choices=("report", "fail"),
        default="report",
        help="what a broken SHOULD does: xfail (default) or fail",
    )
    group.addoption("--examples", type=int, default=150, metavar="N", help="how many random workloads to try")


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    derandomize = bool(os.environ.get("CI"))
    settings.register_profile(
        "slotspec", deadline=None, derandomize=derandomize, database=None if derandomize else settings().database
    )
    settings.load_profile("slotspec")
    target = config.getoption("--impl") or REFERENCE
    try:
        implementation = _implementation(config, target)
    except (TargetError, ValueError) as error:
        raise pytest.UsageError(
            f"--impl {target}: {error}" if isinstance(error, ValueError) else f"--impl {error}"
        ) from None
    config.stash[EVIDENCE] = Evidence(implementation, config.getoption("--examples"))


def _implementation(config: pytest.Config, target: str) -> Any:
    chosen = config.getoption("--dialect")
    if config.getoption("--isolated") or target.startswith("exec:"):
        from conformance.grading.isolated import IsolatedImplementation

        return IsolatedImplementation(target, parse_dialect(chosen) if chosen else None)
    plain = load(target)
    return load(target, parse_dialect(chosen, plain.dialect)) if chosen else plain


def pytest_unconfigure(config: pytest.Config) -> None:
    evidence = config.stash.get(EVIDENCE, None)
    close = getattr(evidence.study.implementation, "close", None) if evidence else None
    if close is not None:
        close()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The suite's own tests say nothing about another implementation."""
    foreign = config.getoption("--impl") not in (None, REFERENCE)
    return True if foreign and collection_path == HERE / "meta" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs on demand only, and say so as deselected."""
    asked = config.option.markexpr
    left = [item for item in items if any(item.get_closest_marker(m) and m not in asked for m in ON_DEMAND)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """With -x, put a promise that is quickly seen broken first, so that the run ends with it at once."""
    if session.config.option.maxfail and not session.config.option.collectonly:
        broken = session.config.stash[EVIDENCE].preview()
        session.items.sort(key=lambda item: not any(f"[{name}]" in item.name for name in broken))


def pytest_report_header(config: pytest.Config) -> str:
    implementation = config.stash[EVIDENCE].study.implementation
    return f"slotspec: {implementation.name}, {implementation.dialect}"


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    evidence = config.stash[EVIDENCE]
    if evidence.study.runs:
        terminalreporter.section("slotspec")
        for line in evidence.summary():
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def evidence(pytestconfig: pytest.Config) -> Evidence:
    """The study of the implementation under test; it is shared, so that every leg runs once."""
    return pytestconfig.stash[EVIDENCE]


@pytest.fixture(scope="session")
def target(pytestconfig: pytest.Config) -> str:
    """What `--impl` says."""
    return pytestconfig.getoption("--impl") or REFERENCE


@pytest.fixture(scope="session")
def dialect(pytestconfig: pytest.Config) -> Dialect:
    """The dialect that the implementation is held to."""
    return pytestconfig.stash[EVIDENCE].study.dialect
