"""Traces: the judge that keeps only what is live agrees with the one that sees the whole run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

import reference.engine
from conformance.catalogue import CATALOGUE, EVERY, judge
from conformance.engine import events as e
from conformance.engine import scope as engine_scope
from conformance.engine.catalogue import judge as judge_engine
from conformance.engine.drive import drive as drive_engine
from conformance.engine.drive import maker
from conformance.history import Run
from conformance.invariant import Violation
from conformance.meta.edits import ODD, edits
from conformance.meta.test_completeness import workloads
from conformance.run import drive
from conformance.tracing import facts
from conformance.tracing.check import Verdict, check
from conformance.tracing.engine_judge import EngineJudge
from conformance.tracing.generate_judge import GenerateJudge
from conformance.tracing.messages import Header
from conformance.tracing.occurrences import Occurrences
from conformance.tracing.parts import PARTS
from conformance.tracing.writing import encoded, of_history, of_run
from reference.generate import generate
from reference.vocabulary import Dialect

COMPACT, PADDED = Dialect(), Dialect(batch="padded")
SIZES = {
    COMPACT: (2, 3, 2_806),
    PADDED: (2, 5, 2_049),
    Dialect(stop_token="excluded"): (2, 5, 1_642),
    Dialect(max_tokens="total"): (2, 5, 1_642),
}

# -- The core ------------------------------------------------------------------------------------------------


def earliest(violations: dict[str, Violation]) -> set[str]:
    first = min((violation.call for violation in violations.values()), default=None)
    return {name for name, violation in violations.items() if violation.call == first}


def judged(run: Run, dialect: Dialect) -> Occurrences:
    """Judge a run as a trace, without the detour over JSON."""
    head, *messages = of_run(run, dialect)
    assert isinstance(head, Header)
    found = Occurrences()
    follower = GenerateJudge(head, dialect, found)
    for number, message in enumerate(messages):
        assert not isinstance(message, Header)
        follower.feed(message, number + 2)
    follower.finish()
    return found


@pytest.mark.parametrize("dialect", SIZES, ids=str)
def test_every_edit_of_the_small_scope_is_judged_as_the_whole_run_is(dialect: Dialect) -> None:
    size, stride, pinned = SIZES[dialect]
    count, wrong = 0, 0
    for workload in islice(workloads(dialect, size), 0, None, stride):
        for run in edits(drive(lambda *a: generate(*a, dialect=dialect), workload)):
            count += 1
            whole = judge(run, dialect, CATALOGUE.values()).violations
            found = judged(run, dialect)
            assert {one.name for one in found.earliest} == earliest(whole), run
            wrong += bool(whole)
    assert count == pinned
    assert wrong > count / 2


def test_the_same_as_lines_of_json() -> None:
    count = 0
    for workload in islice(workloads(COMPACT, 2), 3, None, 17):
        for run in islice(edits(drive(generate, workload)), 0, None, 3):
            verdict = check(encoded(of_run(run, COMPACT)))
            assert {one.name for one in verdict.found.earliest} == earliest(judge(run, COMPACT).violations)
            count += 1
    assert count == 173


# -- The engine ----------------------------------------------------------------------------------------------


def engine_edits(life: e.History) -> Iterator[e.History]:
    """The life of an engine with one event dropped, doubled, swapped or altered."""
    events = life.events
    yield life
    for i, event in enumerate(events):
        yield life.with_events((*events[:i], *events[i + 1 :]))
        yield life.with_events((*events[: i + 1], event, *events[i + 1 :]))
        yield life.with_events((*events[:i], *events[i + 1 : i + 2], event, *events[i + 2 :]))
        for other in altered(event, life.stop_token):
            yield life.with_events((*events[:i], other, *events[i + 1 :]))


def shorter_and_longer(items: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    for i in range(len(items)):
        yield (*items[:i], *items[i + 1 :])
        yield (*items[: i + 1], items[i], *items[i + 1 :])


def altered(event: e.Event, stop: int) -> Iterator[e.Event]:
    match event:
        case e.Call(rows):
            yield from map(e.Call, shorter_and_longer(rows))
            for i, row in enumerate(rows):
                for other in (row[:-1], (*row, ODD), (*row, stop)):
                    yield e.Call((*rows[:i], other, *rows[i + 1 :]))
        case e.Reply(tuple(tokens)):
            for i in range(len(tokens)):
                for token in (stop, ODD):
                    yield e.Reply((*tokens[:i], token, *tokens[i + 1 :]))
        case e.Return(outputs):
            yield from map(e.Return, shorter_and_longer(outputs))
            for i, output in enumerate(outputs):
                reasons = [output._replace(finish_reason=reason) for reason in (None, "stop", "length", "abort")]
                others = [output._replace(token=token) for token in (ODD, None)]
                for changed in (*reasons, *others, output._replace(request_id="nobody")):
                    yield e.Return((*outputs[:i], changed, *outputs[i + 1 :]))
        case e.Submit():
            yield replace(event, error="ValueError")
        case e.Unfinished(value):
            yield e.Unfinished(not value)


def engine_found(life: e.History) -> Occurrences:
    head, *messages = of_history(life, COMPACT)
    assert isinstance(head, Header)
    found = Occurrences()
    follower = EngineJudge(head, COMPACT, found)
    for number, message in enumerate(messages):
        assert not isinstance(message, Header)
        follower.feed(message, number + 2)
    return found


def test_every_edit_of_an_engines_life_is_judged_as_the_whole_is() -> None:
    """Left out: what nobody can have observed, and lives that are right but cut off, as a closed trace is whole."""
    counts = {"judged": 0, "violated": 0, "impossible": 0, "cut off": 0}
    for script in islice(engine_scope.aborts(COMPACT), 0, None, 797):
        life = drive_engine(maker(reference.engine, COMPACT), script)
        for edited in engine_edits(life):
            if e.malformed(edited.events):
                counts["impossible"] += 1
                continue
            whole = judge_engine(edited, COMPACT)
            ledger = whole.reading.ledger
            if whole.reading.clean and (ledger.open_names() or ledger.phase != "idle"):
                counts["cut off"] += 1
                continue
            assert {one.name for one in engine_found(edited).earliest} == whole.violations.keys(), edited
            counts["judged"] += 1
            counts["violated"] += bool(whole.violations)
    # Bounds, not pins: the engine's scope has its own.
    assert counts["judged"] > 700
    assert counts["violated"] > counts["judged"] / 2


# -- Each promise alone ----------------------------------------------------------------------------------------

HEAD: dict[str, Any] = {"type": "trace", "version": 1, "num_slots": 2, "stop_token": 0}


def trace(*messages: dict[str, Any], **head: Any) -> list[bytes]:
    return [json.dumps(message).encode() + b"\n" for message in ({**HEAD, **head}, *messages)]


def submit(name: str, prompt: list[int] | int, limit: int) -> dict[str, Any]:
    return {"type": "submit", "id": name, "prompt": prompt, "max_tokens": limit}


def call(rows: list[list[int]], tokens: list[int]) -> dict[str, Any]:
    return {"type": "call", "rows": rows, "tokens": tokens}


def named(rows: list[Any], tokens: list[int | None]) -> dict[str, Any]:
    return {"type": "call", "named": rows, "tokens": tokens}


def emit(*outputs: tuple[str, int | None, str | None]) -> dict[str, Any]:
    return {"type": "emit", "outputs": outputs}


def result(name: str, tokens: list[int]) -> dict[str, Any]:
    return {"type": "result", "id": name, "tokens": tokens}


RETURN, CLOSE = {"type": "return"}, {"type": "close"}
A, B, C = submit("a", [1], 2), submit("b", [2], 2), submit("c", [3], 1)
ENDED = (result("a", [10, 11]), result("b", [20, 21]), result("c", [30]), RETURN)
FIRST, LATER = call([[1], [2]], [10, 20]), call([[1, 10], [2, 20]], [11, 21])
RIGHT = (A, B, C, FIRST, LATER, call([[3]], [30]), *ENDED)
SMALL = (A, FIRST_A := call([[1]], [10]), SECOND_A := call([[1, 10]], [11]), result("a", [10, 11]), RETURN)
GENERATE: dict[str, tuple[dict[str, Any], ...]] = {
    "call/size": (A, {"type": "call", "malformed": "a batch of type tuple"}),
    "call/needed": (*SMALL[:3], call([], []), *SMALL[3:]),
    "row/prefix": (A, FIRST_A, call([[1, 77]], [11])),
    "admission/fifo": (A, B, C, call([[1], [3]], [10, 30])),
    "admission/once": (*SMALL[:3], call([[1]], [10])),
    "refill/immediate": (A, B, C, call([[1]], [10])),
    "slot/held": (*RIGHT[:4], call([[1, 10]], [11]), call([[2, 20], [3]], [21, 30])),
    "finish/stop": (submit("a", [1], 3), call([[1]], [0]), call([[1, 0]], [5])),
    "finish/length": (*SMALL[:3], call([[1, 10, 11]], [5])),
    "zero/untouched": (submit("z", [9], 0), call([[9]], [5])),
    "output/own": (*SMALL[:3], result("a", [10, 12]), RETURN),
    "output/complete": (*SMALL[:3], RETURN),
    "run/ends": (*SMALL[:3], {"type": "stopped", "why": "60 s"}),
    "row/reply": (A, B, FIRST, call([[1, 20], [2, 10]], [11, 21])),
}
ENGINE: dict[str, tuple[dict[str, Any], ...]] = {
    "arrival/next-call": (A, B, call([[1]], [10])),
    "arrival/fifo": (A, B, C, call([[1], [3]], [10, 30])),
    "arrival/one-call": (A, B, C, call([[1], [2], [3]], [10, 20, 30])),
    "arrival/rejected": (submit("a", [1], -1),),
    "stream/exact-prefix": (A, FIRST_A, emit(("a", 10, None)), call([[1, 10, 10]], [11])),
    "stream/in-order": (A, FIRST_A, emit(("a", 12, None))),
    "stream/immediate": (A, FIRST_A, emit()),
    "stream/finish": (A, FIRST_A, emit(("a", 10, "length"))),
    "stream/one-ending": (submit("z", [1], 0), emit()),
    "stream/awaited": (A, {"type": "unfinished", "value": False}),
    "stream/ends": (A, {"type": "stopped", "why": "60 s"}),
    "abort/frees-slot": (A, FIRST_A, emit(("a", 10, None)), {"type": "abort", "id": "a"}, call([[1, 10]], [11])),
    "abort/silent": (A, {"type": "abort", "id": "a"}, emit(("a", 5, "abort"))),
    "abort/isolated": ({"type": "abort", "id": "nobody", "error": "KeyError"},),
    "id/reusable": (submit("a", [1], 0), emit(("a", None, "length")), {**A, "error": "ValueError"}),
    "id/duplicate": (A, A),
    "failure/resumable": (A, {"type": "call", "rows": [[1]], "error": "OSError"}, emit()),
}


def names(verdict: Verdict) -> set[str]:
    return {one.name for one in verdict.found.earliest}


@pytest.mark.parametrize("name", GENERATE)
def test_a_generate_trace_that_breaks_just_one_promise(name: str) -> None:
    verdict = check(trace(*GENERATE[name]), partial=True)
    assert names(verdict) == {name}
    assert any(fate.name == name and fate.status == "violated" for fate in verdict.fates)


@pytest.mark.parametrize("name", ENGINE)
def test_an_engine_trace_that_breaks_just_one_promise(name: str) -> None:
    assert names(check(trace(*ENGINE[name], profile="engine"), partial=True)) == {name}


def test_every_promise_that_can_be_judged_has_such_a_trace() -> None:
    never = set(facts.SILENT) | set(facts.PADS) | {"prompt/inert", "failure/surfaces"}  # the small scope has these
    assert set(facts.promises("generate")) - never == GENERATE.keys()
    assert set(facts.promises("engine")) - never == ENGINE.keys()


def test_right_traces_break_nothing() -> None:
    assert not check(trace(*RIGHT)).violated


def test_every_part_is_in_its_sentence() -> None:
    assert not [(n, part) for n, parts in PARTS.items() for _, part in parts if part not in EVERY[n].sentence]


# -- What a trace may leave out ----------------------------------------------------------------------------------


def test_named_rows_with_chunks_and_a_cache() -> None:
    good = (
        submit("a", 5, 2),
        named([["a", 3]], [None]),
        emit(),
        named([["a", 2, 3]], [7]),
        emit(("a", 7, None)),
        named([["a", 1]], [8]),
        emit(("a", 8, "length")),
        CLOSE,
    )
    assert not check(trace(*good, profile="engine", rows="named")).violated
    cut = (*good[:1], named([["a", 3]], [7]), *good[2:])
    assert names(check(trace(*cut, profile="engine", rows="named"))) == {"stream/exact-prefix"}


@pytest.mark.parametrize("without", [["tokens"], ["emissions"], ["tokens", "emissions"]])
def test_facts_that_are_missing_are_not_judged(without: list[str]) -> None:
    def told(reason: str) -> list[bytes]:
        tokens = {} if "tokens" in without else {"tokens": [0]}
        ending = {"type": "end", "id": "a", "reason": reason} if "emissions" in without else emit(("a", 0, reason))
        asked = {"type": "call", "rows": [[1]], **tokens}
        return trace(A, asked, ending, CLOSE, profile="engine", without=without)

    verdict = check(told("stop"))
    assert not verdict.violated
    fates = {fate.name: fate for fate in verdict.fates}
    assert fates["stream/in-order"].why.startswith("the trace does not say")
    assert names(check(told("length"))) == {"stream/finish"}


def test_a_waiver_is_counted_and_the_rest_goes_on_being_judged() -> None:
    wrong = (A, B, C, call([[1], [3]], [10, 30]), call([[1, 10], [2]], [11, 20]), call([[2, 20]], [21]), *ENDED)
    assert names(check(trace(*wrong))) == {"admission/fifo"}
    verdict = check(trace(*wrong, allow=["admission/fifo"]), ["slot/held"])
    assert not verdict.violated
    fates = {fate.name: (fate.status, fate.count, fate.why) for fate in verdict.fates}
    assert fates["admission/fifo"] == ("waived", 1, "")
    assert fates["slot/held"] == ("waived", 0, "this waiver was not needed")
