"""One small row for each candidate, and the tables for pipelines. `docs/reports.md` says what the columns mean."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from conformance.grading.reading.clusters import Cluster
from conformance.grading.render_files import read_verdicts
from conformance.grading.render_text import broken
from conformance.grading.results import read_results
from conformance.grading.schema import Verdict

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would take a cell for


class Row(msgspec.Struct):
    """What is kept of one verdict. `cluster` is 0 for one that conforms."""

    target: str
    sha256: str
    verdict: str
    score: float
    earned: float
    possible: float
    cluster: int
    broken: list[str]
    should_broken: list[str]
    dialect: str
    effort: str
    seed: int
    seconds: float
    reason: str


def row_of(verdict: Verdict) -> Row:
    must = [r.name for r in verdict.invariants if r.charge == "charged" and r.level == "MUST"]
    should = [r.name for r in verdict.invariants if r.status == "violated" and r.level == "SHOULD"]
    for report in verdict.profiles:
        must += [f"{report.profile}:{promise.name}" for promise in broken(report)]
        should += [f"{report.profile}:{promise.name}" for promise in broken(report, "SHOULD")]
    return Row(
        verdict.candidate.target,
        verdict.candidate.sha256 or "",
        verdict.verdict,
        verdict.score.ratio,
        verdict.score.earned,
        verdict.score.possible,
        0,
        must,
        should,
        ",".join(f"{axis}={value}" for axis, value in verdict.dialect.axes.items()),
        verdict.effort,
        verdict.seed,
        verdict.seconds,
        verdict.reason,
    )


def verdicts_of(place: Path) -> Iterator[Verdict]:
    """The verdicts of a results folder, or of a file that `slotspec grade --json` wrote.

    Raises ResultsError, SchemaError and OSError.
    """
    if place.is_dir():
        yield from read_results(place)
    else:
        yield from read_verdicts(place)


def cell(value: Any) -> str:
    """A value as a CSV cell that no spreadsheet takes for a formula."""
    text = ";".join(value) if isinstance(value, list) else str(value)
    return f"'{text}" if isinstance(value, str | list) and text.startswith(FORMULA) else text


def write_csv(records: Iterable[dict[str, Any]], columns: Sequence[str], file: IO[str]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for record in records:
        writer.writerow([cell(record[column]) for column in columns])


def write_jsonl(records: Iterable[dict[str, Any]], file: IO[str]) -> None:
    for record in records:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


def records_of(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield msgspec.to_builtins(row)


def cluster_records(clusters: Iterable[Cluster]) -> Iterator[dict[str, Any]]:
    for cluster in clusters:
        key = cluster.key
        yield {
            "cluster": cluster.number,
            "size": cluster.size,
            "verdict": key.verdict,
            "promise": key.promise,
            "shape": key.shape,
            "words": cluster.words,
            "members": cluster.members,
        }


CANDIDATE_COLUMNS = Row.__struct_fields__
CLUSTER_COLUMNS = ("cluster", "size", "verdict", "promise", "shape", "words", "members")
