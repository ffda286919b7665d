"""The commands `slotspec report` and `slotspec diff`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO

import click
import msgspec

from conformance.grading.reading import page
from conformance.grading.reading.changes import changes, line
from conformance.grading.reading.clusters import Cluster, Clusters
from conformance.grading.reading.rows import (
    CANDIDATE_COLUMNS,
    CLUSTER_COLUMNS,
    Row,
    cluster_records,
    records_of,
    row_of,
    verdicts_of,
    write_csv,
    write_jsonl,
)
from conformance.grading.render_files import unusable, write_whole
from conformance.grading.render_text import clean
from conformance.grading.results import ResultsError
from conformance.grading.schema import SchemaError

PLACE = click.Path(path_type=Path, exists=True)
WIDTH, MOST = 79, 12


@click.command(name="report")
@click.argument("place", metavar="DIR", type=PLACE)
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), help="Where to.  [default: DIR]")
def report(place: Path, output: Path | None) -> None:
    """Read the verdicts in DIR together: a folder of `slotspec grade --results`, or a file of verdicts.

    Writes report.html, candidates.csv and .jsonl, clusters.csv and .jsonl. Exit status: 0, or 2 for usage.
    """
    folder = output or (place if place.is_dir() else place.parent)
    folder.mkdir(parents=True, exist_ok=True)
    rows, clusters = gathered(place)
    if not rows:
        raise click.UsageError(f"{place}: there is no verdict in it.")
    files: dict[Path, Callable[[IO[str]], None]] = {
        folder / "report.html": partial(page.write, rows, clusters),
        folder / "candidates.csv": partial(write_csv, records_of(rows), CANDIDATE_COLUMNS),
        folder / "candidates.jsonl": partial(write_jsonl, records_of(rows)),
        folder / "clusters.csv": partial(write_csv, cluster_records(clusters), CLUSTER_COLUMNS),
        folder / "clusters.jsonl": partial(write_jsonl, cluster_records(clusters)),
    }
    for path in files:
        if problem := unusable(path):
            raise click.UsageError(f"{path}: {problem}.")
    try:
        write_whole(files)
    except OSError as error:
        raise click.UsageError(f"Cannot write {error.filename}: {error.strerror}.") from None
    click.echo(f"{len(rows)} candidates, {len(clusters)} explanations of what is wrong")
    for cluster in clusters[:MOST]:
        click.echo(_cut(f"{cluster.size:>5}  {clean(cluster.words)}"))
    if len(clusters) > MOST:
        click.echo(f"       ... and {len(clusters) - MOST} more")
    click.echo(f"Wrote {folder / 'report.html'} and four tables beside it", err=True)


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."


def gathered(place: Path) -> tuple[list[Row], list[Cluster]]:
    """A row for each verdict, and the clusters. Raises click.UsageError."""
    rows: list[Row] = []
    found: list[Cluster | None] = []
    clusters = Clusters()
    try:
        for verdict in verdicts_of(place):
            rows.append(row_of(verdict))
            found.append(clusters.add(verdict))
    except (ResultsError, SchemaError) as error:
        raise click.UsageError(f"{place}: {error}.") from None
    except OSError as error:
        raise click.UsageError(f"{place}: {error.strerror}.") from None
    ordered = clusters.ordered()
    for row, cluster in zip(rows, found, strict=True):
        row.cluster = cluster.number if cluster else 0
    return rows, ordered


@click.command(name="diff")
@click.argument("old", type=PLACE)
@click.argument("new", type=PLACE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def diff(old: Path, new: Path, as_json: bool) -> None:
    """Say what changed between two gradings: folders of results, or files of verdicts.

    Exit status: 0 nothing changed, 1 something did, 2 usage error.
    """
    before, after = gathered(old), gathered(new)
    found = list(changes(before[0], after[0]))
    for change in found:
        click.echo(json.dumps(msgspec.to_builtins(change)) if as_json else clean(line(change)))
    if not as_json:
        click.echo(_sum(before[1], after[1], len(found)))
    sys.exit(1 if found else 0)


def _sum(old: list[Cluster], new: list[Cluster], count: int) -> str:
    """How the explanations changed."""
    were, are = {c.key: c.size for c in old}, {c.key: c.size for c in new}
    grown = sum(are[key] > were[key] for key in are.keys() & were.keys())
    changed = f"{count} candidate{'s' * (count != 1)} changed" if count else "nothing changed"
    fresh, gone = len(are.keys() - were.keys()), len(were.keys() - are.keys())
    return f"{changed}; explanations: {fresh} new, {gone} gone, {grown} with more members"
