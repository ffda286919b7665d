"""The record of a study of a real engine: what the page, and whoever compares versions, reads."""

from __future__ import annotations

import platform
from pathlib import Path

import msgspec

from conformance.engine.catalogue import ENGINE
from conformance.engine.study import Finding
from conformance.engine.timeline import table
from conformance.engines.study import NOT_TRIED, EngineStudy

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "engines"


class Deviation(msgspec.Struct, frozen=True):
    """One declared deviation; `most` is how far it went, 0 where it did not occur."""

    invariant: str
    words: str
    reason: str
    most: int


class Defect(msgspec.Struct, frozen=True):
    """One violation: the smallest scenario as text, and the code that plays it."""

    invariant: str
    expected: str
    observed: str
    leg: str
    life: str
    code: str


class Record(msgspec.Struct, frozen=True):
    """What a study of one adapter's engine came to. `invariants` has (status, times judged, note) by id."""

    adapter: str
    engine: str
    versions: dict[str, str]
    python: str
    machine: str
    seed: int
    examples: int
    seconds: float
    rate: float
    invariants: dict[str, tuple[str, int, str]]
    deviations: list[Deviation]
    defects: list[Defect]
    refuses: dict[str, str]
    legs: dict[str, int]

    @property
    def stem(self) -> str:
        return self.adapter.rpartition(".")[2]


def recorded(study: EngineStudy, seed: int) -> Record:
    """Write down a study."""
    adapter = study.adapter
    return Record(
        adapter.name,
        adapter.engine,
        adapter.versions,
        platform.python_version(),
        f"{platform.system()} {platform.machine()}",
        seed,
        study.tried.total(),
        round(study.seconds, 1),
        round(study.rate, 1),
        {name: (study.status(name), study.judged[name], _note(study, name)) for name in ENGINE},
        [Deviation(d.invariant, d.words, d.reason, study.used.get(d.slack, 0)) for d in adapter.policy],
        [_defect(study, finding) for _, finding in sorted(study.findings.items())],
        adapter.refuses,
        dict(sorted(study.tried.items())),
    )


def _note(study: EngineStudy, name: str) -> str:
    if name in NOT_TRIED or name in study.adapter.unseen:
        return NOT_TRIED.get(name) or study.adapter.unseen[name]
    if not study.judged[name] and name in study.blocked:
        return "blocked by " + ", ".join(sorted(study.blocked[name]))
    return ""


def _defect(study: EngineStudy, finding: Finding) -> Defect:
    violation, life = finding.violation, table(finding.history, study.dialect, study.reader(finding.history))
    return Defect(finding.invariant, violation.expected, violation.observed, finding.leg, life, finding.script.code())


def path_of(stem: str) -> Path:
    return FOLDER / f"{stem}.json"


def written(record: Record) -> Path:
    """Keep a record where the page is made from; another run of the same adapter replaces it."""
    FOLDER.mkdir(exist_ok=True)
    path = path_of(record.stem)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    return path


def kept() -> list[Record]:
    """Every record that was kept, by the name of its engine."""
    records = [msgspec.json.decode(path.read_bytes(), type=Record) for path in sorted(FOLDER.glob("*.json"))]
    return sorted(records, key=lambda record: record.engine.lower())
