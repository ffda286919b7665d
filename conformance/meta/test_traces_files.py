"""Traces as files: what is refused, what the command prints, what is held in memory, what the recorder writes."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner

import reference.engine
from conformance.meta.test_traces import (
    CLOSE,
    FIRST_A,
    GENERATE,
    RETURN,
    RIGHT,
    A,
    B,
    call,
    emit,
    named,
    names,
    result,
    submit,
    trace,
)
from conformance.tracing import benchmark
from conformance.tracing.check import Judge, check
from conformance.tracing.command import check_trace
from conformance.tracing.reading import TraceError
from conformance.tracing.recorder import RecordedEngine, record
from reference.generate import generate
from reference.vocabulary import Request

# -- Files ---------------------------------------------------------------------------------------------------


def numbered(lines: Iterable[bytes]) -> list[bytes]:
    return [json.dumps({**json.loads(line), "seq": n}).encode() + b"\n" for n, line in enumerate(lines)]


GOOD = trace(*RIGHT)
NUMBERED = numbered(GOOD)
MALFORMED: dict[str, tuple[list[bytes], int, str]] = {
    "empty": ([], 1, "empty"),
    "no header": (GOOD[1:], 1, "first line"),
    "a second header": ([*GOOD[:2], *GOOD], 3, "second header"),
    "version": (trace(version=9), 1, "version 9"),
    "slots": (trace(num_slots=0), 1, "num_slots"),
    "dialect": (trace(dialect={"batch": "round"}), 1, "batch"),
    "nonsense": (trace(without=["emissions"]), 1, "cannot be without"),
    "no JSON": ([*GOOD[:3], b"{]\n"], 4, "not JSON"),
    "not UTF-8": ([*GOOD[:3], b'{"type":"abort","id":"\xff"}\n'], 4, ""),
    "cut in a line": ([*GOOD[:3], GOOD[3][:9]], 4, "cut off"),
    "cut between lines": (GOOD[:-1], 10, "cut off"),
    "blank": ([*GOOD[:3], b"\n"], 4, "empty"),
    "unknown type": (trace({"type": "nap"}), 2, "nap"),
    "unknown field": (trace({**A, "color": 1}), 2, "color"),
    "wrong type": (trace({**A, "max_tokens": "2"}), 2, "max_tokens"),
    "moved": ([*NUMBERED[:4], NUMBERED[5], NUMBERED[4], *NUMBERED[6:]], 5, "lost or moved"),
    "lost": ([*NUMBERED[:4], *NUMBERED[5:]], 5, "lost or moved"),
    "submitted late": (trace(A, call([[1]], [1]), B), 4, "behind a call"),
    "submitted twice": (trace(A, A), 3, "line 2"),
    "too few tokens": (trace(A, B, call([[1], [2]], [1])), 4, "1 tokens for 2 rows"),
    "reply of nothing": (trace(A, {"type": "reply", "tokens": [1]}), 3, "no call"),
    "call of a call": (trace(A, {"type": "call", "rows": [[1]]}, call([[1]], [1])), 4, "reply"),
    "after the end": ([*GOOD, GOOD[1]], 12, "nothing may come after"),
    "other profile": (trace(A, emit()), 3, "profile engine"),
    "row of nobody": (trace(named([["x", 1]], [1]), rows="named"), 2, "no line before submits"),
    "no named row": (trace(A, named([["a"]], [1]), rows="named"), 3, "[id, new tokens]"),
    "named by surprise": (trace(A, named([["a", 1]], [1])), 3, "does not announce"),
    "closed in a step": (trace(A, FIRST_A, CLOSE, profile="engine"), 4, "middle of a step"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_file_that_is_no_trace_is_refused_with_its_line(kind: str) -> None:
    lines, number, said = MALFORMED[kind]
    with pytest.raises(TraceError) as caught:
        check(lines)
    assert (caught.value.line, said in caught.value.what) == (number, True), caught.value


def test_the_command(tmp_path: Path) -> None:
    plain, packed, out = tmp_path / "t.jsonl", tmp_path / "t.jsonl.gz", tmp_path / "v.json"
    plain.write_bytes(b"".join(GOOD))
    packed.write_bytes(gzip.compress(b"".join(trace(*GENERATE["refill/immediate"], RETURN))))
    run = CliRunner().invoke
    assert run(check_trace, [str(plain)]).exit_code == 0
    assert run(check_trace, ["-"], input=b"".join(GOOD)).exit_code == 0
    wrong = run(check_trace, [str(packed), "--json", str(out)])
    assert wrong.exit_code == 1
    assert wrong.stdout.startswith("refill/immediate violated at call 1 (line 5)\n  expected: 2 sequences, because")
    assert max(map(len, wrong.stdout.splitlines())) <= 80
    assert json.loads(out.read_text())["violations"][0]["name"] == "refill/immediate"
    assert "perhaps a consequence" in wrong.stdout
    plain.write_bytes(b"".join(GOOD[:4]))
    refused = run(check_trace, [str(plain)])
    assert (refused.exit_code, len(refused.stderr.splitlines())) == (2, 1)
    assert run(check_trace, [str(plain), "--partial"]).exit_code == 0
    packed.write_bytes(packed.read_bytes()[:-12])
    assert run(check_trace, [str(packed)]).exit_code == 2
    assert run(check_trace, [str(plain), "--allow", "no/such"]).exit_code == 2


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("conformance.tracing.command.judged", interrupted)
    (tmp_path / "t").touch()
    assert CliRunner().invoke(check_trace, [str(tmp_path / "t")]).exit_code == 130


# -- Memory, and the recorder ----------------------------------------------------------------------------------


def peak(lines: Iterable[bytes]) -> int:
    most = [0]

    def watch(judge: Judge) -> None:
        most[0] = max(most[0], judge.live)

    assert not check(filter(None, lines), watch=watch).violated
    return most[0]


@pytest.mark.parametrize("named_rows", [False, True])
def test_what_an_engines_judge_holds_does_not_grow(named_rows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("engine.ledger", "tracing.rows", "tracing.slots"):
        monkeypatch.setattr(f"conformance.{module}.MEMORY", 16)
    short, long = (peak(benchmark.lines(steps, named=named_rows)) for steps in (150, 1_500))
    assert short > 16
    assert long <= short + 4


@pytest.mark.parametrize("at_once", [True, False])
def test_what_a_generate_judge_holds_shrinks_as_results_come(at_once: bool) -> None:
    """With its result a finished request is forgotten, but for the latest of the past."""
    count, held = 900, []
    calls = [(call([[n]], [7]), result(f"r{n}", [7])) for n in range(count)]
    messages = [m for pair in calls for m in pair] if at_once else [pair[0] for pair in calls]
    end = RETURN if at_once else {"type": "stopped", "why": "x"}
    head = trace(*(submit(f"r{n}", [n], 1) for n in range(count)), *messages, end, num_slots=1)
    check(head, watch=lambda judge: held.append(judge.live))
    assert (held[-1] < 600) == at_once


class Echo:
    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        return [len(row) % 5 for row in batch]


def test_what_the_recorder_writes_is_a_trace() -> None:
    requests = [Request(f"r{n}", [n + 6] * n, n) for n in range(6)]
    file = io.BytesIO()
    results = record(generate, Echo(), requests, 2, 0, file=file)
    verdict = check(file.getvalue().splitlines(keepends=True))
    assert (verdict.violated, verdict.complete, len(results)) == ([], True, 6)


def test_a_recorded_failure_surfaces_or_does_not() -> None:
    def broken(batch: list[list[int]]) -> list[int]:
        raise OSError("gone")

    model, file = Echo(), io.BytesIO()
    model.next_tokens = broken  # type: ignore[method-assign]
    with pytest.raises(OSError, match="gone"):
        record(generate, model, [Request("a", [1], 1)], 1, 0, file=file)
    lines = file.getvalue().splitlines(keepends=True)
    assert not check(lines).violated
    lines[-1] = b'{"type":"return","seq":4}\n'
    assert names(check(lines)) == {"failure/surfaces"}


def test_a_recorded_engine() -> None:
    file = io.BytesIO()
    engine = RecordedEngine(lambda model: reference.engine.Engine(model, 2, 0), Echo(), file, num_slots=2, stop_token=0)
    for n in range(4):
        engine.add_request(Request(f"r{n}", [n + 6] * (n + 1), 3))
    engine.step()
    engine.abort_request("r0")
    while engine.has_unfinished_requests():
        engine.step()
    engine.close()
    verdict = check(file.getvalue().splitlines(keepends=True))
    assert verdict.violated == []
    assert {f.name: f.status for f in verdict.fates}["abort/frees-slot"] == "holds"
