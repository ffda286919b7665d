"""Grading: verdicts as data, replayed and rendered."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given, settings

from conformance.grading import grade, gradescope, html, junit, render_text
from conformance.grading.recheck import differences
from conformance.grading.render_files import Spool, read_verdicts, write_json, write_whole
from conformance.grading.schema import (
    SchemaError,
    Verdict,
    decoded,
    encoded,
    session_data,
    session_of,
    workload_data,
)
from conformance.legs import strategies
from conformance.meta.test_grading_support import (
    BROKEN,
    FLAWED,
    HONEST,
    SAMPLE,
    InProcess,
    attacked,
    charged,
    flawed,
    quickly,
)
from conformance.workloads import Session, Workload
from reference.vocabulary import Dialect

# -- The verdict as data -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(strategies.sessions(Dialect()))
def test_a_session_survives_the_way_through_json(session: Session) -> None:
    data = msgspec.json.encode(session_data(session))
    assert session_of(msgspec.json.decode(data, type=type(session_data(session)))) == session


@pytest.mark.parametrize("name", SAMPLE[:6])
def test_a_verdict_survives_the_way_through_json(name: str) -> None:
    assert decoded(encoded(flawed(name))) == flawed(name)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(schema_version=3),
        lambda data: data.update(more=1),
        lambda data: data.update(verdict="splendid"),
        lambda data: data.pop("score"),
        lambda data: data.update(seed="1"),
    ],
)
def test_a_verdict_that_is_none_is_refused(change: Callable[[dict[str, Any]], Any]) -> None:
    data = json.loads(encoded(flawed("extra_slot")))
    change(data)
    with pytest.raises(SchemaError):
        decoded(json.dumps(data).encode())


@pytest.mark.parametrize("text", ["", "[" * 100_000, '{"schema_version":1}', "\x00", "{}\n{}"])
def test_garbage_is_no_verdict(text: str, tmp_path: Path) -> None:
    file = tmp_path / "verdict.json"
    file.write_text(text)
    with pytest.raises(SchemaError):
        read_verdicts(file)


def test_counterexamples_are_as_small_as_the_fault_allows() -> None:
    for name, requests in (("static_batching", 3), ("extra_slot", 2), ("off_by_one_limit_fewer", 1)):
        report = next(r for r in flawed(name).invariants if r.charge == "charged" and r.level == "MUST")
        assert report.counterexample is not None
        assert len(report.counterexample.session.workloads[0].requests) <= requests + 1


# -- Recheck -----------------------------------------------------------------------------------------


def rechecked(verdict: Verdict, path: Path) -> list[str]:
    return list(differences(verdict, str(path), again=partial(grade, factory=InProcess), factory=InProcess))


def test_a_true_verdict_is_confirmed() -> None:
    assert rechecked(flawed("static_batching"), FLAWED / "static_batching.py") == []
    assert rechecked(quickly(HONEST[0]), HONEST[0]) == []


def test_a_verdict_that_was_tampered_with_differs() -> None:
    path = FLAWED / "static_batching.py"
    true = json.loads(encoded(flawed("static_batching")))
    claims: list[Callable[[dict[str, Any]], Any]] = [
        lambda data: data.update(verdict="conforming"),
        lambda data: data["score"].update(earned=6.0),
        lambda data: data["rubric"][2].update(status="passed", charged=[]),
        lambda data: data["candidate"].update(sha256="0" * 64),
        lambda data: data["dialect"]["axes"].update(stop_token="excluded"),
        lambda data: data["dialect"]["axes"].update(colour="red"),
        lambda data: [r.update(status="holds", charge=None) for r in data["invariants"]],
    ]
    for claim in claims:
        data = json.loads(json.dumps(true))
        claim(data)
        assert rechecked(decoded(json.dumps(data).encode()), path)


def test_a_counterexample_that_is_none_is_noticed() -> None:
    verdict = json.loads(encoded(flawed("static_batching")))
    report = next(r for r in verdict["invariants"] if r["name"] == "refill/immediate")
    report["counterexample"]["session"]["workloads"] = [msgspec.to_builtins(workload_data(Workload((), 1, 2)))]
    found = rechecked(decoded(json.dumps(verdict).encode()), FLAWED / "static_batching.py")
    assert found == ["refill/immediate: its counterexample does not violate it"]


# -- Reports -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLE)
def test_a_failing_candidate_fits_a_screen_and_says_how_to_go_on(name: str) -> None:
    text = render_text.screen(flawed(name))
    lines = text.split("\n")
    assert len(lines) <= 40
    assert all(len(line) < 80 for line in lines if "slotspec repro" not in line)
    if charged(flawed(name)):
        for word in ("expected", "observed", "promise", "docs/invariants.md#", "slotspec repro"):
            assert word in text


def test_the_offending_slot_is_marked() -> None:
    text = render_text.screen(flawed("static_batching"))
    assert "<- idle while 'r2' waits" in text


def test_what_a_candidate_says_cannot_command_the_terminal_or_the_page(tmp_path: Path) -> None:
    evil = "\x1b[2J<script>alert(1)</script>\ud800"
    source = f"def generate(model, requests, num_slots, stop_token):\n    raise RuntimeError({evil!r})\n"
    verdict = attacked(source)
    assert "\x1b" not in render_text.screen(verdict)
    ElementTree.fromstring(junit.render([verdict]))
    with (tmp_path / "page.html").open("w") as file:
        html.write([verdict], file)
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_junit_counts_what_it_holds() -> None:
    verdicts = [flawed("static_batching"), attacked(BROKEN), quickly(HONEST[0])]
    root = ElementTree.fromstring(junit.render(verdicts))
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.get("tests", "")) == len(cases)
        for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(count, "")) == sum(case.find(tag) is not None for case in cases)
    assert [(suite.get("failures"), suite.get("errors")) for suite in root] == [("1", "0"), ("0", "1"), ("0", "0")]


@pytest.mark.parametrize("name", SAMPLE[:5])
def test_gradescope_adds_up(name: str) -> None:
    data = json.loads(gradescope.render(flawed(name)))
    assert abs(sum(test["score"] for test in data["tests"]) - data["score"]) < 0.1
    assert abs(sum(test["max_score"] for test in data["tests"]) - 100) < 0.1


def test_the_page_needs_no_network_and_marks_the_offending_cell(tmp_path: Path) -> None:
    with (tmp_path / "page.html").open("w") as file:
        html.write([flawed("static_batching"), quickly(HONEST[0])], file)
    page = (tmp_path / "page.html").read_text()
    assert page.count('class="cell idle wrong"') == 1
    assert not any(word in page for word in ("http:", "https:", "src=", "@import", "url("))
    assert "prefers-color-scheme: dark" in page


# -- Files -------------------------------------------------------------------------------------------


def test_a_report_that_cannot_be_finished_leaves_what_was_there(tmp_path: Path) -> None:
    old = tmp_path / "verdict.json"
    old.write_text("old")

    def half(file: Any) -> None:
        file.write("half")
        raise OSError(28, "No space left on device", "verdict.json")

    def whole(file: Any) -> None:
        file.write("whole")

    with pytest.raises(OSError, match="No space"):
        write_whole({tmp_path / "other.xml": whole, old: half})
    assert old.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["verdict.json"]


@pytest.mark.parametrize(("lines", "single"), [(True, False), (False, False), (False, True)])
def test_verdicts_are_read_as_they_were_written(tmp_path: Path, lines: bool, single: bool) -> None:
    verdicts = [flawed(name) for name in SAMPLE[: 1 if single else 3]]
    file = tmp_path / "verdicts.json"
    with Spool(len(verdicts)) as spool:
        for index in reversed(range(len(verdicts))):
            spool.put(index, verdicts[index])
        with file.open("w") as opened:
            write_json(spool, opened, single=single, lines=lines)
    assert read_verdicts(file) == verdicts
