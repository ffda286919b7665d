"""llama.cpp's server behind the engine profile: its known defect is found, and a server that errs is noticed."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("xllamacpp")
pytest.importorskip("gguf")

from conformance.engine.script import Move
from conformance.engines.adapters import Adapter, adapter, described
from conformance.engines.scripts import Played, fitted, plan
from conformance.engines.study import EngineStudy, statuses
from conformance.workloads import Ask

TWO = (Ask("a", (301, 302, 303), 5, ()), Ask("b", (401,), 4, ()))
TOGETHER = (Move("step", 0, "add", 0), Move("step", 0, "add", 1))


def broken(**methods: Any) -> Adapter:
    """The adapter with another stream in place of its own."""
    original: Any = adapter("llama_server").module
    module: Any = ModuleType("llama_server_again")
    module.__dict__.update(vars(original))
    module.Stream = type("Stream", (original.Stream,), methods)

    class Engine(original.Engine):  # type: ignore[misc]
        def add_request(self, request: Any) -> None:
            self.live[request.request_id] = module.Stream(self.server, request, self.stop)

    module.Engine = Engine
    return described("llama_server_again", module)


def violations(subject: Adapter, moves: tuple[Move, ...] = TOGETHER, num_slots: int = 2) -> set[str]:
    script = fitted(Played(TWO, moves, num_slots, 0), subject)
    assert script is not None
    return set(EngineStudy(subject, shrinking=False).alone(script)[1].violations)


def test_it_breaks_what_is_known_and_nothing_else() -> None:
    study = EngineStudy(adapter("llama_server"), shrinking=False)
    study.campaign(0, 60, float("inf"))
    assert set(study.findings) == {"stream/finish"}
    assert study.findings["stream/finish"].violation.expected.endswith("which has nothing to generate")
    assert study.judged["stream/in-order"] > 20
    told = statuses(study)
    assert {name for name in study.adapter.unseen if told[name] != "not tried"} == set()
    assert told["failure/resumable"] == "not tried"


@pytest.mark.parametrize("num_slots", [1, 2, 4])
def test_two_together_and_one_that_leaves_are_right(num_slots: int) -> None:
    """The situations in which an error is noticed below are right without it."""
    leaves = (*TOGETHER, Move("step", 1, "abort", 0))
    assert violations(adapter("llama_server"), TOGETHER, num_slots) == set()
    assert violations(adapter("llama_server"), leaves, num_slots) == set()


def changed(self: Any, change: Any) -> Any:
    """What comes next, changed on its way, once."""
    if self.next is None:
        self.next = change(super(type(self), self).peek())
    return self.next


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda came: came if isinstance(came, str) else 700, "stream/in-order"),
        (lambda came: came if isinstance(came, int) else "word", "stream/finish"),
    ],
    ids=["another token", "another reason"],
)
def test_a_server_that_errs_is_noticed(change: Any, found: str) -> None:
    assert found in violations(broken(peek=lambda self: changed(self, change)))


@pytest.mark.parametrize(("after", "found"), [(0, "arrival/next-call"), (2, "stream/exact-prefix")])
def test_a_stream_that_falls_silent_is_noticed(after: int, found: str) -> None:
    """What is unseen cannot be said to hold, and is charged all the same where it plainly does not."""

    def peek(self: Any) -> Any:
        return None if self.prompt[0] == 401 and len(self.prompt) > after else super(type(self), self).peek()

    assert violations(broken(peek=peek)) == {found}


def test_what_is_too_close_to_tell_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = adapter("llama_server")
    script = fitted(Played(TWO, TOGETHER, 2, 0), subject)
    assert script is not None
    monkeypatch.setitem(subject.module.known, (401,), None)
    assert fitted(Played(TWO, TOGETHER, 2, 0), subject) is None


def test_no_token_of_another_is_within_a_tokens_text() -> None:
    module = adapter("llama_server").module
    texts = [module.text(number) for number in range(module.FIRST, module.VOCABULARY)]
    assert len(texts) == 765
    assert sum(b"".join(texts).count(text) for text in texts) == len(texts)


def test_any_token_has_an_id_and_those_of_the_model_their_own() -> None:
    module = adapter("llama_server").module
    assert [module.to_id(token) for token in (259, 1023)] == [259, 1023]
    assert all(module.FIRST <= module.to_id(token) < module.VOCABULARY for token in (0, -7, 2**40, 1024, 258))


def test_its_plan_is_given_the_models_replies() -> None:
    subject = adapter("llama_server")
    scripts = [script for _, script in zip(range(40), (script for _, script in plan(subject, 0)), strict=False)]
    assert all(move.where == "step" and move.what != "fail" for script in scripts for move in script.moves)
    assert sum(len(ask.script) for script in scripts for ask in script.asks) > 50
