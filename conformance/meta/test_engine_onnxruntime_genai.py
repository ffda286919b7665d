"""onnxruntime-genai's adapter: it holds what it declares, and a cache read wrongly is seen."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from conformance.engines.adapters import Adapter, described
from conformance.engines.study import EngineStudy, statuses
from reference.vocabulary import Request

exact_onnx: Any = pytest.importorskip("variants.engines.exact_onnx", exc_type=ImportError)
genai: Any = pytest.importorskip("variants.engines.onnxruntime_genai", exc_type=ImportError)
EXAMPLES = 150


def with_engine(engine: type) -> Adapter:
    module: Any = ModuleType("genai_again")
    module.__dict__.update(vars(genai))
    module.Engine = engine
    return described("genai_again", module)


def studied(engine: type, examples: int = EXAMPLES) -> EngineStudy:
    study = EngineStudy(with_engine(engine), shrinking=False)
    study.campaign(0, examples, float("inf"))
    return study


def test_it_holds_every_promise_that_can_be_tried() -> None:
    study = studied(genai.Engine)
    assert study.findings == {}
    assert sum(study.tried.values()) == EXAMPLES
    assert sum(status == "holds" for status in statuses(study).values()) >= 15


def crossed(ids: Any, bounds: Any, past: Any, table: Any, cached: Any) -> list[list[int]]:
    """Rows of tables swapped."""
    rows: list[list[int]] = READ(ids, bounds, past, table[::-1], cached)
    return rows


def stale(ids: Any, bounds: Any, past: Any, table: Any, cached: Any) -> list[list[int]]:
    """What is new is read, but not kept."""
    before = cached.copy()
    rows: list[list[int]] = READ(ids, bounds, past, table, cached)
    cached[:] = before
    return rows


READ = exact_onnx.prefixes


@pytest.mark.parametrize("wrong", [crossed, stale])
def test_a_cache_read_wrongly_is_seen(monkeypatch: pytest.MonkeyPatch, wrong: Any) -> None:
    monkeypatch.setattr(exact_onnx, "prefixes", wrong)
    assert "stream/exact-prefix" in studied(genai.Engine, 60).findings


class Keeps(genai.Engine):  # type: ignore[misc]
    """Never closes what is over, so that its slot stays taken."""

    def _over(self, turn: Any) -> None:
        self.kept = [*getattr(self, "kept", ()), self.turns.pop(turn.handle, None)]
        if not turn.aborted:
            del self.live[turn.request.request_id]


class Deaf(genai.Engine):  # type: ignore[misc]
    """Cancels nothing."""

    def _now_or_late(self, turn: Any) -> None:
        if not turn.aborted:
            super()._now_or_late(turn)


@pytest.mark.parametrize(("engine", "broken"), [(Keeps, "arrival/next-call"), (Deaf, "abort/frees-slot")])
def test_a_fault_of_the_engine_is_charged_as_what_it_is(engine: type, broken: str) -> None:
    assert broken in studied(engine, 60).findings


class Model:
    """Counts, and fails in its second call."""

    def __init__(self) -> None:
        self.calls = 0

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        self.calls += 1
        if self.calls == 2:
            raise MemoryError
        return [len(row) for row in batch]


def test_a_failing_call_is_the_end_of_the_engine_and_of_no_other() -> None:
    """What `REFUSES` says of failures is what happens."""
    first, second = (genai.Engine(Model(), 1, 0) for _ in range(2))
    first.add_request(Request("r", [7], 3))
    assert first.step() == [("r", 1, None)]
    with pytest.raises(MemoryError):
        first.step()
    with pytest.raises(RuntimeError, match="no longer healthy"):
        first.step()
    second.add_request(Request("r", [7], 1))
    assert second.step() == [("r", 1, "length")]
