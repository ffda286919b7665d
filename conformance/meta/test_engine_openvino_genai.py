"""openvino-genai's adapter: it finds the engine's known faults and no others, and a cache read wrongly is seen."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from conformance.engine.events import Call
from conformance.engine.script import Script
from conformance.engines.adapters import Adapter, described
from conformance.engines.study import EngineStudy, statuses

exact: Any = pytest.importorskip("variants.engines.exact_openvino", exc_type=ImportError)
genai: Any = pytest.importorskip("variants.engines.openvino_genai", exc_type=ImportError)
split: Any = pytest.importorskip("variants.engines.openvino_genai_split", exc_type=ImportError)
EXAMPLES = 80
KNOWN = {"abort/frees-slot", "abort/isolated", "failure/resumable"}


def with_engine(engine: type, of: ModuleType = genai) -> Adapter:
    module: Any = ModuleType("genai_again")
    module.__dict__.update(vars(of))
    module.Engine = engine
    return described("genai_again", module)


def studied(engine: type, examples: int = EXAMPLES) -> EngineStudy:
    study = EngineStudy(with_engine(engine), shrinking=False)
    study.campaign(0, examples, float("inf"))
    return study


def test_it_finds_the_known_faults_and_no_others() -> None:
    study = studied(genai.Engine)
    assert set(study.findings) <= KNOWN
    assert {"abort/frees-slot", "failure/resumable"} <= set(study.findings)
    assert study.idle() == []
    assert sum(study.tried.values()) == EXAMPLES
    assert sum(status == "holds" for status in statuses(study).values()) >= 12


ALIKE = Script.of(
    [("a", [5], 3, [6, 7, 8]), ("b", [5, 6, 7], 3, [8, 9, 9])],
    [("step", 0, "add", 0), ("step", 1, "add", 1)],
    num_slots=2,
    stop_token=-1,
)


def test_prompts_that_begin_alike_are_told_apart() -> None:
    """A token of one request that would follow the last one of another is a row of its own."""
    study = EngineStudy(with_engine(split.Engine, split))
    assert not study.consider(ALIKE, "by hand")
    calls = [event.rows for event in study.alone(ALIKE)[0].events if isinstance(event, Call)]
    assert ((5, 6), (5, 6, 7)) in calls


def test_a_shared_block_that_is_not_copied_is_found() -> None:
    """Where prompts are whole, one that begins as another one that runs reads a block that nobody has written."""
    study = EngineStudy(with_engine(genai.Engine))
    assert study.consider(ALIKE, "by hand")
    assert "stream/exact-prefix" in study.findings


def test_half_a_block_of_a_cancelled_prefill_is_found() -> None:
    """Where prompts are cut, a retry of a prompt whose first try was cancelled in prefill reads what nobody wrote."""
    prompt, replies = list(range(100, 140)), [1, 2, 3]
    tries = [(name, prompt, 3, replies) for name in ("first", "second")]
    moves = [("step", 0, "add", 0), ("step", 1, "abort", 0), ("step", 2, "add", 1)]
    study = EngineStudy(with_engine(split.Engine, split))
    study.consider(Script.of(tries, moves, num_slots=1, stop_token=-1), "by hand")
    assert set(study.findings) & {"abort/isolated", "stream/exact-prefix"}
    study = EngineStudy(with_engine(split.Engine, split))
    assert not study.consider(Script.of(tries, [moves[0], moves[2]], num_slots=1, stop_token=-1), "by hand")


def test_cut_prompts_break_nothing_else() -> None:
    study = EngineStudy(with_engine(split.Engine, split), shrinking=False)
    study.campaign(0, 60, float("inf"))
    assert set(study.findings) <= {"failure/resumable"}
    assert "chunks" in study.used


def shifted(stamps: Any, positions: Any) -> list[int]:
    """The first of each sequence's tokens instead of the last."""
    return [0, *(place + 1 for place in LAST(stamps, positions)[:-1])]


LAST = exact.last_ones


def test_a_wrong_reading_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "last_ones", shifted)
    assert "stream/exact-prefix" in studied(genai.Engine, 40).findings


def forgetful(self: Any, first: Any, positions: Any) -> Any:
    """Write, but nothing of a token at an odd position."""
    values = MADE(self, first, positions)
    values[positions % 2 == 1, 0] = 0
    return values


MADE = exact.Write.made


def test_a_cache_that_forgets_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact.Write, "made", forgetful)
    assert "stream/exact-prefix" in studied(genai.Engine, 40).findings
    genai.IDLE.clear()  # what they cached is wrong
