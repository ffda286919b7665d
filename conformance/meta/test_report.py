"""Many verdicts, read together: failures have few explanations, hostile names hurt no table and no page."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.grading.grade_one import grade
from conformance.grading.reading import page
from conformance.grading.reading.changes import changes
from conformance.grading.reading.clusters import Clusters, key_of, plain
from conformance.grading.reading.rows import CANDIDATE_COLUMNS, cell, row_of
from conformance.grading.results import renamed
from conformance.grading.schema import Verdict, encoded

RIGHT = """
def generate(model, requests, num_slots, stop_token):
    if num_slots < 1: raise ValueError
    out = {r.request_id: [] for r in requests}
    waiting = [r for r in requests if r.max_tokens]
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots: running.append(waiting.pop(0))
        tokens = model.next_tokens([[*r.prompt, *out[r.request_id]] for r in running])
        for r, t in zip(running, tokens): out[r.request_id].append(t)
        running = [r for r in running if out[r.request_id][-1] != stop_token and len(out[r.request_id]) < r.max_tokens]
    return out
"""
ONE_REFILL = RIGHT.replace("while waiting and len(running) < num_slots:", "if waiting and len(running) < num_slots:")
ALSO_ONE_REFILL = ONE_REFILL.replace("running = []\n", "running, turn = [], 0\n").replace(
    "out[r.request_id].append(t)", "out[r.request_id] += [t]"
)
NO_STOP = RIGHT.replace("out[r.request_id][-1] != stop_token and ", "")
BROKEN = "def generate(:\n    pass\n"
HOSTILE = "=<script>alert(1)</script>'[x].py"


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    sources = {"right": RIGHT, "one": ONE_REFILL, "also": ALSO_ONE_REFILL, "stop": NO_STOP, "broken": BROKEN}
    graded = {name: grade(source=text, effort="quick", seed=1) for name, text in sources.items()}
    return {name: renamed(verdict, f"{name}.py") for name, verdict in graded.items()}


@pytest.fixture
def folder(verdicts: dict[str, Verdict], tmp_path: Path) -> Path:
    path = tmp_path / "all.jsonl"
    path.write_bytes(b"\n".join(map(encoded, [*verdicts.values(), renamed(verdicts["stop"], HOSTILE)])) + b"\n")
    return path


def test_one_fault_written_in_two_ways_has_one_explanation(verdicts: dict[str, Verdict]) -> None:
    assert key_of(verdicts["one"]) == key_of(verdicts["also"])
    assert key_of(verdicts["one"]) != key_of(verdicts["stop"])
    assert key_of(verdicts["right"]) is None


def test_the_clusters_add_up(verdicts: dict[str, Verdict]) -> None:
    clusters = Clusters(verdicts.values()).ordered()
    assert [cluster.size for cluster in clusters] == [2, 1, 1]
    assert clusters[0].members == ["one.py", "also.py"]
    assert clusters[0].key.promise == "refill/immediate"
    assert sorted(cluster.key.verdict for cluster in clusters) == ["invalid", "nonconforming", "nonconforming"]
    assert [cluster.number for cluster in clusters] == [1, 2, 3]


def test_what_differs_between_candidates_is_forgotten() -> None:
    assert plain("a row of 'r2' in call 17, not [1, 2]") == plain("a row of 'b' in call 3, not [9]")
    assert plain("a row of 'r2'") != plain("no row of 'r2'")


def test_the_page_holds_everything_and_nothing_hostile(folder: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["report", str(folder), "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "6 candidates, 3 explanations" in result.output
    assert max(map(len, result.stdout.splitlines())) <= 79
    text = (tmp_path / "out" / "report.html").read_text()
    assert "refill/immediate" in text
    assert "also.py" in text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_tables_are_whole_and_safe_in_a_spreadsheet(folder: Path, tmp_path: Path) -> None:
    assert CliRunner().invoke(main, ["report", str(folder), "-o", str(tmp_path)]).exit_code == 0
    with (tmp_path / "candidates.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert tuple(rows[0]) == CANDIDATE_COLUMNS
    assert rows[-1]["target"] == f"'{HOSTILE}"
    assert cell("-1") == "'-1"
    assert cell(-1) == "-1"
    lines = [json.loads(line) for line in (tmp_path / "candidates.jsonl").read_text().splitlines()]
    assert [line["target"] for line in lines][-1] == HOSTILE
    clusters = [json.loads(line) for line in (tmp_path / "clusters.jsonl").read_text().splitlines()]
    assert sum(cluster["size"] for cluster in clusters) == 5
    assert {line["cluster"] for line in lines} == {0, *(cluster["cluster"] for cluster in clusters)}


def test_a_page_of_very_many_is_cut(verdicts: dict[str, Verdict], tmp_path: Path) -> None:
    rows = [row_of(verdicts["one"]) for _ in range(page.MOST_ROWS + 500)]
    clusters = Clusters(verdicts["one"] for _ in range(page.MOST_ROWS + 500)).ordered()
    with (tmp_path / "page.html").open("w") as file:
        page.write(rows, clusters, file)
    text = (tmp_path / "page.html").read_text()
    assert "500 more candidates are in candidates.csv" in text
    assert "2,460 more" in text
    assert len(text) < 1_500_000


def test_changes_are_told(verdicts: dict[str, Verdict]) -> None:
    old = [row_of(verdicts[name]) for name in ("right", "one", "stop")]
    moved, worse = row_of(renamed(verdicts["stop"], "moved.py")), row_of(renamed(verdicts["one"], "right.py"))
    worse.sha256 = "other"
    new = [worse, moved, row_of(verdicts["broken"])]
    found = {change.target: change for change in changes(old, new)}
    assert {name: change.kind for name, change in found.items()} == {
        "broken.py": "added",
        "moved.py": "changed",
        "one.py": "removed",
        "right.py": "changed",
    }
    assert found["moved.py"].before == "stop.py"
    assert found["right.py"].newly_broken == ["refill/immediate"]
    assert found["right.py"].verdict == ("conforming", "nonconforming")


def test_the_difference_has_an_exit_status(folder: Path, verdicts: dict[str, Verdict], tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(encoded(verdicts["right"]) + b"\n")
    same = CliRunner().invoke(main, ["diff", str(folder), str(folder)])
    assert (same.exit_code, same.output.splitlines()[0][:15]) == (0, "nothing changed")
    changed = CliRunner().invoke(main, ["diff", str(folder), str(other), "--json"])
    assert changed.exit_code == 1
    assert len([json.loads(line) for line in changed.output.splitlines()]) == 5


@pytest.mark.parametrize("command", [["report", "{}"], ["diff", "{}", "{}"]])
def test_what_holds_no_verdicts_gets_one_line(command: list[str], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"a": 1}\n')
    result = CliRunner().invoke(main, [part.format(wrong) for part in command])
    assert result.exit_code == 2
    assert "wrong.jsonl" in result.output
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == [wrong]


def test_a_folder_that_holds_no_results_gets_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["report", str(tmp_path)])
    assert result.exit_code == 2
    assert "is no folder of results" in result.output
