"""mlx-lm behind the engine profile: what it is known to break is found, and a spoiled cache is noticed."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("mlx_lm")

import mlx.core as mx
from mlx_lm.models.cache import BatchKVCache

from conformance.engine.script import Script
from conformance.engines.adapters import Adapter, adapter, described
from conformance.engines.study import EngineStudy

KNOWN = {"arrival/one-call", "failure/resumable"}
THREE = [
    ("a", [10, 11, 12], 4, [13, 14, 15, 16]),
    ("b", [20], 2, [21, 22]),
    ("c", [30, 31], 3, [32, 33, 34]),
]
ARRIVALS = [("step", 0, "add", 0), ("step", 1, "add", 1), ("step", 2, "add", 2)]


def chunked(size: int) -> Adapter:
    """The same adapter, its engine prefilling so many tokens at once, which makes a long prompt wait longer."""
    original: Any = adapter("mlx_lm").module
    module: Any = ModuleType("mlx_lm_chunked")
    module.__dict__.update(vars(original))

    class Engine(original.Engine):  # type: ignore[misc]
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.generator.prefill_step_size = size

    module.Engine = Engine
    steps = -(-39 // size)  # the longest prompt has 40 tokens, the last of which is no prefill
    module.POLICY = {
        **original.POLICY,
        "arrival/next-call": (f"a request waits at most {steps} steps beside a free slot", "chunks"),
        "arrival/fifo": (f"a request is overtaken in at most {steps} steps, while it is prefilled", "chunks"),
    }
    return described("mlx_lm_chunked", module)


def studied(subject: Adapter, examples: int) -> EngineStudy:
    study = EngineStudy(subject, shrinking=False)
    study.campaign(0, examples, float("inf"))
    return study


def violations(script: Script) -> set[str]:
    study = EngineStudy(adapter("mlx_lm"), shrinking=False)
    return set(study.alone(script)[1].violations)


@pytest.mark.parametrize("subject", [adapter("mlx_lm"), chunked(4)], ids=["whole", "chunked"])
def test_it_breaks_what_is_known_and_nothing_else(subject: Adapter) -> None:
    study = studied(subject, 240)
    assert set(study.findings) == KNOWN
    assert study.judged["stream/exact-prefix"] > 200
    assert study.idle() == []


def test_three_that_come_one_after_another_are_served() -> None:
    """The situation in which a spoiled cache is noticed below is right without it."""
    assert violations(Script.of(THREE, ARRIVALS, 3, 0)) == set()


@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_failure_in_decoding_alone_is_survived(call: int) -> None:
    """What is charged as failure/resumable is the engine's, and not that of the adapter's failing model."""
    fails = [("step", 0, "add", 0), ("call", call, "fail", 0)]
    assert violations(Script.of(THREE[:1], fails, 1, 0)) == set()


def test_a_failure_in_the_first_call_loses_the_request() -> None:
    fails = [("step", 0, "add", 0), ("call", 0, "fail", 0)]
    assert violations(Script.of(THREE[:1], fails, 1, 0)) == {"failure/resumable"}


def reversed_filter(original: Callable[..., None]) -> Callable[..., None]:
    return lambda self, keep: original(self, list(reversed(keep)))


def no_padding(original: Callable[..., mx.array]) -> Callable[..., mx.array]:
    def make_mask(self: Any, *given: Any, **more: Any) -> mx.array:
        kept, self.left_padding = self.left_padding, mx.zeros_like(self.left_padding)
        mask = original(self, *given, **more)
        self.left_padding = kept
        return mask

    return make_mask


def one_short(original: Callable[..., int]) -> Callable[..., Any]:
    def finalize(self: Any) -> None:
        original(self)
        self.left_padding += 1

    return finalize


@pytest.mark.parametrize(
    ("method", "fault"),
    [("filter", reversed_filter), ("make_mask", no_padding), ("finalize", one_short)],
    ids=["crossed rows", "padding read", "a token lost"],
)
def test_a_spoiled_cache_is_noticed(monkeypatch: pytest.MonkeyPatch, method: str, fault: Callable[..., Any]) -> None:
    """The rows come from the engine's own cache: spoil it, and another prefix is seen."""
    monkeypatch.setattr(BatchKVCache, method, fault(getattr(BatchKVCache, method)))
    together = [("step", 0, "add", place) for place in range(3)]
    found = violations(Script.of(THREE, ARRIVALS, 3, 0)) | violations(Script.of(THREE, together, 3, 0))
    assert "stream/exact-prefix" in found, found
