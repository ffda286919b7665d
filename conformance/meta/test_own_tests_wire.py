"""What the tests under grading see of an implementation in another process is what they would see in one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conformance.grading.client import Wire
from conformance.grading.own_tests import walls
from conformance.grading.own_tests.near import Implementation, Request
from conformance.grading.sandbox import Contained
from conformance.history import Run
from conformance.run import drive_session
from conformance.study import LEGS, Study
from conformance.workloads import Session
from reference.vocabulary import Dialect

Open = Callable[..., Implementation]
ROOT = Path(__file__).resolve().parents[2]
HONEST = "def generate(model, requests, num_slots, stop_token):\n"
RETURNS = "    return {one.request_id: list(one.prompt) for one in requests}\n"


def connected(place: Path) -> tuple[Contained, Implementation]:
    contained = walls.of_implementation(place, Dialect()).start()
    wire = Wire(contained.stdout.fileno(), contained.stdin.fileno())
    hello = wire.line()
    assert hello[-1] == "", hello
    return contained, Implementation(wire)


@pytest.fixture
def running() -> Iterator[list[Contained]]:
    """The processes of a test, which end with it."""
    found: list[Contained] = []
    yield found
    for contained in found:
        contained.kill()


@pytest.fixture
def opened(tmp_path: Path, running: list[Contained]) -> Open:
    """Open an implementation, given as the body of its `generate`."""

    def start(body: str, before: str = "") -> Implementation:
        place = tmp_path / f"{len(running)}.py"
        place.write_text(before + HONEST + "".join(f"    {line}\n" for line in body.splitlines()))
        contained, implementation = connected(place)
        running.append(contained)
        return implementation

    return start


class Keeps:
    """A language model that keeps the very batches that it was handed, and answers 7."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.batches: list[Any] = []
        self.error = error

    def next_tokens(self, batch: Any) -> list[int]:
        self.batches.append(batch)
        if self.error is not None:
            raise self.error
        return [7] * len(batch)


# -- What the implementation does to what it was given ---------------------------------------------------


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ("requests.pop()", lambda asked: len(asked) == 1),
        ("requests.reverse()", lambda asked: [one.request_id for one in asked] == ["b", "a"]),
        ("requests[0].prompt.append(9)", lambda asked: asked[0].prompt == [1, 9]),
        ("requests[1].prompt = [5]", lambda asked: asked[1].prompt == [5]),
        ("requests[0].max_tokens -= 1", lambda asked: asked[0].max_tokens == 1),
        ("requests[0].request_id = 'z'", lambda asked: asked[0].request_id == "z"),
        ("pass", lambda asked: asked == [Request("a", [1], 2), Request("b", [2], 2)]),
    ],
)
def test_a_change_of_the_inputs_is_seen(opened: Open, body: str, changed: Callable[[Any], bool]) -> None:
    asked = [Request("a", [1], 2), Request("b", [2], 2)]
    first, prompts = asked[0], [one.prompt for one in asked]
    assert opened(body + "\nreturn {}").generate(Keeps(), asked, 2, 0) == {}
    assert changed(asked)
    assert first in [first]
    assert prompts[0] is first.prompt


def test_a_change_is_seen_by_the_model_while_the_run_goes_on(opened: Open) -> None:
    asked, seen = [Request("a", [1], 2)], []

    class Looks(Keeps):
        def next_tokens(self, batch: Any) -> list[int]:
            seen.append([*asked[0].prompt])
            return [5]

    body = "for _ in range(2):\n    requests[0].prompt += model.next_tokens([requests[0].prompt])\nreturn {}"
    opened(body).generate(Looks(), asked, 1, 0)
    assert seen == [[1], [1, 5]]


def test_a_row_that_is_a_prompt_arrives_as_that_very_list(opened: Open) -> None:
    model, asked = Keeps(), [Request("a", [1], 2)]
    opened("model.next_tokens([requests[0].prompt, [3]])\nreturn {}").generate(model, asked, 2, 0)
    assert model.batches[0][0] is asked[0].prompt
    assert model.batches[0][1] == [3]


def test_what_the_model_does_to_a_row_reaches_the_implementation(opened: Open) -> None:
    class Spoils(Keeps):
        def next_tokens(self, batch: Any) -> list[int]:
            batch[0].append(99)
            batch.append([4])
            return [7]

    body = "batch = [[1]]\nmodel.next_tokens(batch)\nreturn {'a': batch[0], 'b': batch[1]}"
    assert opened(body).generate(Spoils(), [], 1, 0) == {"a": [1, 99], "b": [4]}


def test_a_row_that_is_changed_later_is_seen_to_change(opened: Open) -> None:
    model = Keeps()
    body = "row = [1]\nbatch = [row]\nmodel.next_tokens(batch)\nrow.append(2)\nbatch.append([3])\nreturn {}"
    opened(body).generate(model, [], 1, 0)
    assert model.batches == [[[1, 2], [3]]]


def test_one_batch_that_is_used_again_is_one_list(opened: Open) -> None:
    model = Keeps()
    body = "batch = [[1]]\nfor _ in range(3):\n    model.next_tokens(batch)\n    batch[0] = [8]\nreturn {}"
    opened(body).generate(model, [], 1, 0)
    assert model.batches[0] is model.batches[1] is model.batches[2]
    assert model.batches[0] == [[8]]


def test_a_result_that_a_later_run_changes_is_seen_to_change(opened: Open) -> None:
    implementation = opened("kept.setdefault('a', []).append(1)\nreturn kept", "kept = {}\n")
    first = implementation.generate(Keeps(), [], 1, 0)
    assert first == {"a": [1]}
    assert implementation.generate(Keeps(), [], 1, 0) is first
    assert first == {"a": [1, 1]}


def test_what_nobody_holds_any_more_is_forgotten(opened: Open) -> None:
    implementation = opened("for _ in range(50):\n    model.next_tokens([[1, 2], [3]])\nreturn {}")
    held = implementation._objects.held

    class Forgets:
        def next_tokens(self, batch: Any) -> list[int]:
            return [1, 2]

    for _ in range(5):
        implementation.generate(Forgets(), [Request("a", [1], 2)], 1, 0)
        implementation.generate(Forgets(), [], 1, 0)
    assert len(held) < 20


class Frozen(NamedTuple):
    request_id: str
    prompt: list[int]
    max_tokens: int


def test_a_request_that_cannot_be_changed_makes_the_run_raise_as_it_would_in_one_process(opened: Open) -> None:
    implementation = opened("requests[0].max_tokens = 0\nreturn {}")
    with pytest.raises(AttributeError):
        implementation.generate(Keeps(), [Frozen("a", [1], 2)], 1, 0)
    assert opened(RETURNS.strip()).generate(Keeps(), [Frozen("a", [1], 2)], 1, 0) == {"a": [1]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': (1, 2)}", {"a": (1, 2)}),
        ("{'a': [1, 1.5, True, None, 'x', 2**70]}", {"a": [1, 1.5, True, None, "x", 2**70]}),
        ("[('a', [1])]", [("a", [1])]),
        ("None", None),
        ("{'\\u00e9\\n': []}", {"é\n": []}),
    ],
)
def test_what_is_returned_arrives_with_its_types(opened: Open, text: str, value: Any) -> None:
    found = opened(f"return {text}").generate(Keeps(), [], 1, 0)
    assert found == value
    assert repr(found) == repr(value)


def test_what_cannot_cross_arrives_as_something_odd(opened: Open) -> None:
    found = opened("return iter(())").generate(Keeps(), [], 1, 0)
    assert type(found).__name__ == "tuple_iterator"
    model = Keeps()
    opened("model.next_tokens(deque([[1]]))\nreturn {}", "from collections import deque\n").generate(model, [], 1, 0)
    assert type(model.batches[0]).__name__ == "deque"
    assert not isinstance(model.batches[0], list)
    assert list(model.batches[0]) == [[1]]


# -- Exceptions ----------------------------------------------------------------------------------------


class OfTheTests(Exception):
    pass


FAILURES = (
    OfTheTests("x"),
    ValueError("v"),
    KeyError("k"),
    OSError(2, "no"),
    StopIteration(),
    KeyboardInterrupt(),
    asyncio.CancelledError(),
    ExceptionGroup("several", [ValueError("one"), ExceptionGroup("inner", [KeyError("two")])]),
)


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_the_models_exception_comes_back_as_the_same_object(opened: Open, error: BaseException) -> None:
    implementation = opened("return model.next_tokens([[1]])")
    for _ in range(2):
        with pytest.raises(type(error)) as caught:
            implementation.generate(Keeps(error), [], 1, 0)
        assert caught.value is error
        assert error.__cause__ is None


@pytest.mark.parametrize(
    ("handler", "cause", "hidden"),
    [("raise KeyError('new') from e", True, True), ("raise KeyError('new')", False, False)],
)
def test_one_that_is_chained_arrives_chained(opened: Open, handler: str, cause: bool, hidden: bool) -> None:
    error = OfTheTests("x")
    body = f"try:\n    model.next_tokens([[1]])\nexcept Exception as e:\n    {handler}"
    with pytest.raises(KeyError, match="new") as caught:
        opened(body).generate(Keeps(error), [], 1, 0)
    assert (caught.value.__cause__ is error) is cause
    assert caught.value.__context__ is error
    assert caught.value.__suppress_context__ is hidden


def test_one_in_a_group_arrives_in_a_group(opened: Open) -> None:
    error = OfTheTests("x")
    body = "try:\n    model.next_tokens([[1]])\nexcept Exception as e:\n    raise ExceptionGroup('g', [e, KeyError(1)])"
    with pytest.raises(ExceptionGroup) as caught:
        opened(body).generate(Keeps(error), [], 1, 0)
    assert caught.value.exceptions[0] is error
    assert type(caught.value.exceptions[1]) is KeyError


def test_the_implementation_can_tell_the_models_exceptions_apart(opened: Open) -> None:
    body = "try:\n    model.next_tokens([[1]])\nexcept LookupError:\n    return {'caught': []}"
    implementation = opened(body)
    assert implementation.generate(Keeps(KeyError("k")), [], 1, 0) == {"caught": []}
    with pytest.raises(OfTheTests):
        implementation.generate(Keeps(OfTheTests()), [], 1, 0)


def test_its_own_exceptions_arrive_by_their_class(opened: Open) -> None:
    with pytest.raises(ValueError, match="two slots") as caught:
        opened("raise ValueError('two slots')").generate(Keeps(), [], 1, 0)
    assert type(caught.value) is ValueError
    with pytest.raises(TypeError) as other:
        opened("raise Odd(object())", "class Odd(TypeError): pass\n").generate(Keeps(), [], 1, 0)
    assert type(other.value).__name__ == "Odd"


# -- Several runs at a time ----------------------------------------------------------------------------


def test_a_run_inside_a_call_of_another(opened: Open) -> None:
    implementation = opened("return {'n': [num_slots, *model.next_tokens([[num_slots]])]}")

    class Nests:
        def next_tokens(self, batch: Any) -> list[int]:
            if batch == [[3]]:
                return [0]
            return [implementation.generate(self, [], batch[0][0] + 1, 0)["n"][0]]

    assert implementation.generate(Nests(), [], 1, 0) == {"n": [1, 2]}


def test_runs_in_several_threads_that_wait_for_each_other(opened: Open) -> None:
    implementation = opened("return {'n': [num_slots, *model.next_tokens([[num_slots]])]}")
    barrier, found = threading.Barrier(3, timeout=20), {}

    class Waits:
        def next_tokens(self, batch: Any) -> list[int]:
            barrier.wait()
            return [batch[0][0] * 10]

    def run(number: int) -> None:
        found[number] = implementation.generate(Waits(), [], number, 0)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: {"n": [number, number * 10]} for number in range(3)}


def test_a_call_of_a_run_that_is_over_reaches_nobody(opened: Open) -> None:
    body = "kept.append(model)\ntry:\n    kept[0].next_tokens([[1]])\nexcept RuntimeError as e:\n    return str(e)"
    implementation = opened(body, "kept = []\n")
    assert implementation.generate(Keeps(), [], 1, 0) is None
    model = Keeps()
    assert implementation.generate(model, [], 1, 0) == "the run is over"
    assert model.batches == []


# -- The suite itself, through this wire ------------------------------------------------------------------


@dataclass
class Proxied:
    """A variant behind this wire, for the suite that judges histories."""

    name: str
    running: list[Contained]
    dialect: Dialect = Dialect()

    def __post_init__(self) -> None:
        contained, self._implementation = connected(ROOT / f"{self.name.replace('.', '/')}.py")
        self.running.append(contained)

    def run(self, session: Session) -> list[Run]:
        return drive_session(self._implementation.generate, session)

    def fresh(self) -> Proxied:
        return Proxied(self.name, self.running)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("batch_reused", "row/private"),
        ("live_buffers", "row/private"),
        ("prompt_handed_over", "row/private"),
        ("stop_iteration_ends_quietly", "failure/any-class"),
    ],
)
def test_what_only_the_process_itself_can_tell_is_told(name: str, broken: str, running: list[Contained]) -> None:
    study = Study(Proxied(f"variants.flawed.{name}", running))
    study.search(LEGS[2])
    assert broken in study.findings


@pytest.mark.parametrize("name", ["reference.generate", "variants.asyncio_workers"])
def test_an_honest_one_stays_honest(name: str, running: list[Contained]) -> None:
    study = Study(Proxied(name, running))
    study.search(LEGS[2])
    assert study.findings == {}
    assert study.runs > 30
