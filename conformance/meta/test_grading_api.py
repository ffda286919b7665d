"""Grading from Python, as a reward or a benchmark does it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.grading import Verdict, grade
from conformance.meta.test_grading_support import DIES, EXITS, FLAWED, HOME, LOOPS, InProcess

RIGHT = (HOME / "slot_array.py").read_text()
SOURCES = [RIGHT, DIES, EXITS, (FLAWED / "extra_slot.py").read_text(), (FLAWED / "lifo_queue.py").read_text()]
EXAMPLE = HOME.parent / "docs" / "examples" / "grade_jsonl.py"


def timeless(verdict: Verdict) -> Verdict:
    return msgspec.structs.replace(verdict, seconds=0)


def quick(source: str | bytes) -> Verdict:
    return grade(source=source, effort="quick", seed=5)


@pytest.mark.parametrize(
    "source",
    ["", "x", "variants.slot_array", str(HOME / "slot_array.py"), "exec:true", "/", "def generate(:", "\0", "\ud800",
     b"\xff\xfe", "I cannot help with that.", "import nothing_of_the_kind", "#" * 2_000_000, "raise SystemExit(0)"],
    ids=lambda source: ascii(source[:12]),
)  # fmt: skip
def test_a_source_is_never_taken_for_a_name_and_whatever_it_is_gets_a_verdict(source: str | bytes) -> None:
    verdict = quick(source)
    assert (verdict.verdict, verdict.score.ratio) == ("invalid", 0)
    assert (verdict.candidate.target, verdict.candidate.how) == ("<source>", "source")
    assert "/tmp" not in verdict.reason


def test_a_source_of_one_line_is_graded() -> None:
    line = "generate = lambda model, requests, num_slots, stop_token: {r.request_id: [] for r in requests}"
    verdict = quick(line)
    assert verdict.verdict == "nonconforming"
    assert verdict.runs > 0


def test_what_the_verdict_calls_a_source_is_no_path() -> None:
    verdict = grade("no/such/place.py", source=RIGHT, effort="quick", seed=5, factory=InProcess)
    assert (verdict.candidate.target, verdict.verdict) == ("no/such/place.py", "conforming")


@pytest.mark.parametrize("given", [{}, {"candidate": ""}, {"source": RIGHT, "effort": "hard"}])
def test_bad_arguments_are_the_callers_error(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"give a candidate|effort='hard' should be one of"):
        grade(**given)


def test_the_same_seed_gives_the_same_verdict_from_any_thread() -> None:
    alone = [timeless(quick(source)) for source in SOURCES]
    assert [verdict.verdict for verdict in alone][:2] == ["conforming", "crashed"]
    assert all(0 <= verdict.score.ratio <= 1 for verdict in alone)
    with ThreadPoolExecutor(3) as pool:
        assert [timeless(verdict) for verdict in pool.map(quick, SOURCES)] == alone


def test_importing_the_package_is_cheap() -> None:
    code = "import sys, conformance.grading; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HOME.parent)
    assert not {"msgspec", "hypothesis", "click", "conformance.grading.grade_one"} & set(told.stdout.split())


# -- The example -------------------------------------------------------------------------------------


def started(*arguments: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(HOME.parent)}
    command = [sys.executable, str(EXAMPLE), *map(str, arguments), "--jobs", "2", "--seed", "5"]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def told(process: subprocess.Popen[str]) -> tuple[int, str]:
    said = process.communicate(timeout=120)[1]
    return process.returncode, said


def test_the_example_grades_a_file_of_candidates_and_goes_on_after_it_was_killed(tmp_path: Path) -> None:
    given, out = tmp_path / "candidates.jsonl", tmp_path / "scores.jsonl"
    sources = [*SOURCES, "not Python", LOOPS]
    given.write_text("".join(json.dumps({"id": f"c{i}", "source": s}) + "\n" for i, s in enumerate(sources)))
    first = started(given, out)
    deadline = time.monotonic() + 60
    while (not out.exists() or not out.read_bytes().count(b"\n")) and time.monotonic() < deadline:
        time.sleep(0.02)
    first.kill()
    told(first)
    kept = out.read_bytes().count(b"\n")
    assert 1 <= kept < len(sources)
    with out.open("a") as file:
        file.write('{"id": "c6", "sha2')
    assert told(started(given, out)) == (0, f"7 candidates, {kept} scores are there already\n")
    scores = {score["id"]: score for score in map(json.loads, out.read_text().splitlines())}
    assert len(scores) == len(out.read_text().splitlines()) == len(sources)
    assert [scores[f"c{i}"]["verdict"] for i in (0, 1, 3, 5, 6)] == [
        "conforming", "crashed", "nonconforming", "invalid", "timeout",
    ]  # fmt: skip
    assert [scores[f"c{i}"]["score"] for i in range(len(SOURCES))] == [quick(s).score.ratio for s in SOURCES]


@pytest.mark.parametrize("line", ["{", "[]", '{"id": "a"}', '{"id": 1, "source": ""}'])
def test_the_example_says_where_its_input_is_bad(tmp_path: Path, line: str) -> None:
    given = tmp_path / "candidates.jsonl"
    given.write_text(f'{{"id": "a", "source": ""}}\n{line}\n')
    status, said = told(started(given, tmp_path / "scores.jsonl"))
    assert (status, said.count("\n")) == (2, 1)
    assert f"{given}:2: a line should be" in said
    assert not (tmp_path / "scores.jsonl").exists()
