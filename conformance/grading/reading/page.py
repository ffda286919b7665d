"""The index page of many verdicts: how they are spread, what explains the failures, and a table of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import IO, Any, get_args

from conformance.comparison.palette import COLOURS, INK
from conformance.grading import render_text
from conformance.grading.html import TEMPLATES, grid
from conformance.grading.reading.clusters import Cluster, first_charged
from conformance.grading.reading.rows import Row
from conformance.grading.schema import VerdictClass

MOST_ROWS, MOST_MEMBERS, MOST_CLUSTERS = 2_000, 40, 200
BUCKETS = 10


def write(rows: Sequence[Row], clusters: Sequence[Cluster], file: IO[str]) -> None:
    """Write it as one file that needs no other."""
    template = TEMPLATES.get_template("report.html.j2")
    counts = Counter(row.verdict for row in rows)
    names = Counter(name for row in rows for name in row.broken)
    given: dict[str, Any] = {
        "colours": COLOURS,
        "ink": INK,
        "clean": render_text.clean,
        "total": len(rows),
        "classes": [(kind, counts[kind]) for kind in get_args(VerdictClass) if counts[kind]],
        "scores": scores(rows),
        "promises": names.most_common(),
        "clusters": [_shown(cluster) for cluster in clusters[:MOST_CLUSTERS]],
        "more_clusters": max(0, len(clusters) - MOST_CLUSTERS),
        "rows": rows[:MOST_ROWS],
        "more_rows": max(0, len(rows) - MOST_ROWS),
    }
    for part in template.generate(given):
        file.write(part)


def scores(rows: Sequence[Row]) -> list[tuple[str, int, float]]:
    """The spread of the scores: what each bar is called, how many, and the height as a share of the highest."""
    counts = Counter(min(BUCKETS, int(row.score * BUCKETS)) for row in rows)
    most = max(counts.values(), default=1)
    named = [f"{place / BUCKETS:.1f}" for place in range(BUCKETS)] + ["1"]
    return [(name, counts[place], counts[place] / most) for place, name in enumerate(named)]


def _shown(cluster: Cluster) -> dict[str, Any]:
    clean, charged = render_text.clean, first_charged(cluster.first)
    example = charged.counterexample if charged else None
    text = render_text.block(cluster.first, charged) if charged else ""
    blocks = [text] if text else render_text.profile_blocks(cluster.first)
    return {
        "number": cluster.number,
        "size": cluster.size,
        "verdict": cluster.key.verdict,
        "promise": cluster.key.promise,
        "shape": clean(cluster.key.shape),
        "words": clean(cluster.words),
        "text": "\n\n".join(blocks),
        "picture": grid(example.picture) if example and example.picture else None,
        "members": [clean(name) for name in cluster.members[:MOST_MEMBERS]],
        "more": max(0, cluster.size - MOST_MEMBERS),
    }
