"""vLLM behind the engine profile: it keeps what it promises, and a cache or an engine that is spoiled is noticed."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of torch, when it is loaded
    pytest.importorskip("vllm.v1.engine.llm_engine")

from vllm.v1.core import kv_cache_utils
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine.core import EngineCore

from conformance.engine.events import Return
from conformance.engine.script import Script
from conformance.engines.adapters import adapter
from conformance.engines.study import EngineStudy
from reference.vocabulary import Request
from variants.engines import vllm_engine

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")

FULL = ("vllm_engine_full", "vllm_engine_async_full")
ENGINES = ("vllm_engine", "vllm_engine_async", *FULL)
SCHEDULERS = ("vllm_scheduler", "vllm_async_scheduler")
PREFIX = [7, 7, 7, 7, 8]
TWO = [("a", [1, 2, 3, 4, *PREFIX], 3, [60, 61, 62]), ("b", [5, 6, 5, 6, *PREFIX], 3, [70, 71, 72])]
IN_TURN = [("step", 0, "add", 0), ("step", 5, "add", 1)]
AGAIN = [("a", [1, 2], 9, list(range(60, 69))), ("a", [3, 4], 2, [80, 81]), ("c", [5], 9, list(range(90, 99)))]
ABORTED = [("step", 0, "add", 0), ("step", 0, "add", 2), ("step", 3, "abort", 0), ("step", 3, "add", 1)]
CROWD = [(name, [10 * k + 100] * 12, 24, list(range(1000 * k, 1000 * k + 24))) for k, name in enumerate("abcd", 1)]
CROWDED = Script.of(CROWD, [("step", 0, "add", k) for k in range(4)], num_slots=4, stop_token=0)


def violations(name: str, script: Script) -> set[str]:
    return set(EngineStudy(adapter(name), shrinking=False).alone(script)[1].violations)


def scripts() -> dict[str, Script]:
    return {
        "one prefix after another": Script.of(TWO, IN_TURN, num_slots=2, stop_token=0),
        "an id again after an abort": Script.of(AGAIN, ABORTED, num_slots=2, stop_token=0),
    }


@pytest.mark.parametrize("name", ENGINES + SCHEDULERS)
def test_nothing_is_broken_and_every_declared_deviation_occurs(name: str) -> None:
    study = EngineStudy(adapter(name), shrinking=False)
    study.campaign(0, 240, float("inf"))
    assert sorted(study.findings) == []
    assert {one.slack for one in study.idle()} <= {"lack"}  # preemption is seldom, and looked at below
    assert study.judged["stream/exact-prefix"] > 200


@pytest.mark.parametrize("life", scripts())
@pytest.mark.parametrize("name", ENGINES + SCHEDULERS)
def test_what_is_spoiled_below_is_right_as_it_is(name: str, life: str) -> None:
    assert violations(name, scripts()[life]) == set()


def test_a_block_with_other_tokens_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are taken for equal whatever tokens they hold, so that a prefix is another request's."""
    hashed = kv_cache_utils.hash_block_tokens

    def careless(function: Any, parent: Any, tokens: Any, extra: Any = None, **more: Any) -> Any:
        return hashed(function, parent, [0] * len(tokens), extra, **more)

    monkeypatch.setattr(kv_cache_utils, "hash_block_tokens", careless)
    assert violations("vllm_engine", scripts()["one prefix after another"]) == {"stream/exact-prefix"}
    assert violations("vllm_scheduler", scripts()["one prefix after another"]) == {"stream/exact-prefix"}


def test_an_abort_that_is_forgotten_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EngineCore, "abort_requests", lambda self, names: None)
    assert violations("vllm_engine", scripts()["an id again after an abort"]) == {"abort/frees-slot"}


@pytest.mark.parametrize("name", FULL)
def test_those_who_are_preempted_go_on_where_they_were(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    preempted, preempt = [], Scheduler._preempt_request

    def noted(self: Any, request: Any, *given: Any, **more: Any) -> None:
        preempted.append(request.request_id)
        preempt(self, request, *given, **more)

    monkeypatch.setattr(Scheduler, "_preempt_request", noted)
    study = EngineStudy(adapter(name), shrinking=False)
    history, judgement = study.alone(CROWDED)
    assert judgement.violations == {}
    assert sum(len(event.outputs) for event in history.events if isinstance(event, Return)) == 4 * 24
    assert len(preempted) >= 3
    assert study.used["lack"] >= 1


def test_a_preemption_that_loses_a_token_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    preempt = Scheduler._preempt_request

    def careless(self: Any, request: Any, *given: Any, **more: Any) -> None:
        preempt(self, request, *given, **more)
        request._output_token_ids.pop()
        request._all_token_ids.pop()

    monkeypatch.setattr(Scheduler, "_preempt_request", careless)
    assert violations("vllm_engine_full", CROWDED) == {"stream/exact-prefix"}


class Counting:
    """A model whose next token is the length of the row."""

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        return [len(row) for row in batch]


def test_an_engine_is_used_again_only_when_it_is_empty() -> None:
    """What is live at the end of a run is aborted, and a step that raised leaves nothing to use."""
    kind = (vllm_engine.Engine, 2)
    first = vllm_engine.Engine(Counting(), 2, 0)
    first.add_request(Request("a", [1, 2, 3], 9))
    first.step()
    kept = len(vllm_engine.Engine.idle[kind])
    first.close()
    assert len(vllm_engine.Engine.idle[kind]) == kept + 1
    second = vllm_engine.Engine(Counting(), 2, 0)
    assert second.engine is first.engine
    assert not second.has_unfinished_requests()
    second.add_request(Request("a", [1, 2, 3], 1))
    assert [(output.request_id, output.token) for output in second.step()] == [("a", 3)]
    second.broken = True
    second.close()
    assert len(vllm_engine.Engine.idle[kind]) == kept
