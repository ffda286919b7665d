"""The CrossHair contracts, tested: what they refute, what they confirm, and what they do not count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.contracts import HOUSE, PATIENT, QUICK, SHAPES, ContractResult, Shape, check_contracts, replay
from conformance.contracts.command import BEGIN, END, variants
from conformance.targets import REFERENCE, load
from reference.vocabulary import Dialect

# A scheduler that is right but for the places in capitals, which each fault below replaces.
SCHEDULER = """
def generate(model, requests, num_slots, stop_token):
    results = {request.request_id: [] for request in requests}
    waiting = [request for request in requests if request.max_tokens > 0]
    running = []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(waiting.pop(0))
        tokens = model.next_tokens([request.prompt + results[request.request_id] for request in running])
        for request, token in zip(list(running), tokens):
            generated = results[request.request_id]
            previous = (request.prompt + generated)[-1]
            generated.append(TOKEN)
            if STOP or LENGTH:
                running.remove(request)
    return results
"""
RIGHT = {"TOKEN": "token", "STOP": "token == stop_token", "LENGTH": "len(generated) == request.max_tokens"}
# A request that ends early breaks its length, or, where the prompt is as long as the limit, seems to count the prompt.
TOO_EARLY = {"finish/length", "prompt/inert"}
FAULTS = {
    "one token too many": ({"LENGTH": "len(generated) > request.max_tokens"}, {"finish/length"}),
    "a needle in the token": ({"TOKEN": "token + (token == 3 * previous + 1237)"}, {"row/prefix"}),
    "the stop token compared in 32 bits": ({"STOP": "token % 2**32 == stop_token % 2**32"}, TOO_EARLY),
    "a negative token compared as its absolute": ({"STOP": "abs(token) == stop_token"}, TOO_EARLY),
}
NEEDLE, PAIR = QUICK[0], SHAPES[4]
IDENTITY = {"STOP": "token is stop_token"}


@pytest.fixture(scope="module")
def reference() -> dict[str, ContractResult]:
    return {result.shape: result for result in check_contracts(REFERENCE, Dialect(), PATIENT)}


def written(folder: Path, changes: dict[str, str]) -> str:
    """Write the scheduler with the changes to a file; return its path, which is a target."""
    source = SCHEDULER
    for place, code in (RIGHT | changes).items():
        source = source.replace(place, code)
    path = folder / "candidate.py"
    path.write_text(source)
    return str(path)


def test_the_reference_is_confirmed_in_every_quick_shape(reference: dict[str, ContractResult]) -> None:
    assert {name: result.verdict for name, result in reference.items()} == {
        "needle: 1 request with a prompt of 3, x 2 tokens x 1 slot": "confirmed",
        "1 request x 3 tokens x 1 slot": "confirmed",
        "1 request x 2 tokens x 2 slots": "confirmed",
        "2 requests x 2 tokens x 1 slot": "confirmed",
        "2 requests x 2 tokens x 2 slots": "confirmed",
        "2 requests x 3 tokens x 2 slots": "confirmed",
        "3 requests x 1 token x 2 slots": "confirmed",
        "3 requests x 2 tokens x 2 slots": "confirmed",
    }


def test_the_right_scheduler_is_confirmed(tmp_path: Path) -> None:
    results = check_contracts(written(tmp_path, {}), Dialect(), (NEEDLE, PAIR))
    assert [result.verdict for result in results] == ["confirmed", "confirmed"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_refuted_by_a_run_that_can_be_replayed(fault: str, tmp_path: Path) -> None:
    changes, invariants = FAULTS[fault]
    target = written(tmp_path, changes)
    (result,) = check_contracts(target, Dialect(), (NEEDLE,))
    assert result.verdict == "refuted", result
    assert result.workload is not None
    assert invariants & set(result.violations)
    assert replay(target, Dialect(), result.workload) == result.violations
    assert not replay(REFERENCE, Dialect(), result.workload)


def test_a_counterexample_that_violates_nothing_when_replayed_does_not_count(tmp_path: Path) -> None:
    (result,) = check_contracts(written(tmp_path, IDENTITY), Dialect(), (NEEDLE,))
    assert (result.verdict, result.violations) == ("not confirmed", {})
    assert result.workload is not None, "CrossHair claimed nothing, so nothing was tested"
    assert "violates nothing when it is run" in result.note


def test_what_cannot_be_followed_is_not_confirmed(tmp_path: Path) -> None:
    path = tmp_path / "threads.py"
    path.write_text(
        "from threading import Thread\nfrom reference.generate import generate as right\n"
        "def generate(*arguments):\n    results = []\n"
        "    thread = Thread(target=lambda: results.append(right(*arguments)))\n"
        "    thread.start(), thread.join()\n    return results[0]\n"
    )
    (result,) = check_contracts(str(path), Dialect(), (NEEDLE,))
    assert (result.verdict, result.note) == (
        "not confirmed",
        "it starts threads, which symbolic execution does not follow",
    )


def test_an_exception_of_crosshair_that_the_implementation_catches_confirms_nothing(tmp_path: Path) -> None:
    path = tmp_path / "catches.py"
    path.write_text(
        "from crosshair.util import UnexploredPath\nfrom reference.generate import generate as right\n"
        "def generate(*arguments):\n    result = right(*arguments)\n"
        "    try:\n"
        "        raise UnexploredPath\n    except BaseException:\n        return result\n"
    )
    (result,) = check_contracts(str(path), Dialect(), (replace(NEEDLE, seconds=1.0),))
    assert (result.verdict, result.note) == ("not confirmed", "CrossHair did not decide every path in 1 s")


def test_a_target_that_cannot_be_loaded_is_an_error(tmp_path: Path) -> None:
    (result,) = check_contracts(str(tmp_path / "absent.py"), Dialect(), (NEEDLE,))
    assert result.verdict == "error"
    assert "there is no such file" in result.note


def test_the_document_states_the_verdicts_of_the_reference(reference: dict[str, ContractResult]) -> None:
    shapes, _ = _tables()
    assert list(shapes) == [shape.name for shape in SHAPES], RENEW
    assert {name: shapes[name][0] for name in reference} == {n: r.verdict for n, r in reference.items()}, RENEW


def test_the_document_names_every_variant() -> None:
    _, columns = _tables()
    assert columns.pop("variant") == [shape.name for shape in QUICK], RENEW
    assert list(columns) == variants(), RENEW


@pytest.mark.slow
@pytest.mark.parametrize("shape", [pytest.param(s, id=s.name) for s in SHAPES if s.slow])
def test_the_document_states_the_verdict_of_a_slow_shape(shape: Shape) -> None:
    (result,) = check_contracts(REFERENCE, Dialect(), (shape,))
    assert _tables()[0][shape.name][0] == result.verdict, RENEW


@pytest.mark.slow
@pytest.mark.parametrize("variant", variants())
def test_the_document_states_the_verdicts_of_a_variant(variant: str) -> None:
    results = check_contracts(variant, load(variant).dialect, PATIENT)
    assert _tables()[1][variant] == [result.verdict for result in results], RENEW


RENEW = "renew docs/crosshair.md: python -m conformance.contracts --write docs/crosshair.md"


def _tables() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Read the two tables of the document, each as its first column with the other ones."""
    text = Path(HOUSE, "docs", "crosshair.md").read_text()
    block = text.partition(BEGIN)[2].partition(END)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines() if line[:1] == "|"]
    named = {row[0]: row[1:] for row in rows if not row[0].startswith("---")}
    split = list(named).index("variant")
    first, second = list(named.items())[1:split], list(named.items())[split:]
    return dict(first), dict(second)
