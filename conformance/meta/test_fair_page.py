"""The page on fairness and its picture say what the engines do today."""

from __future__ import annotations

from functools import cache

from conformance.fair.drawing import svg
from conformance.fair.measure import SHORTS, SLOTS, Outcome, outcomes
from conformance.fair.page import PAGE, PICTURE, regenerate


@cache
def found() -> dict[int, list[Outcome]]:
    return outcomes()


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert regenerate(text, found()) == text, "run python -m conformance.fair.page"
    assert text.count("<!-- table: ") == len(found())


def test_the_picture_is_up_to_date() -> None:
    assert PICTURE.read_text(encoding="utf-8") == svg(found()), "run python -m conformance.fair.page"


def test_every_policy_serves_everybody_with_the_same_work() -> None:
    for longs, of in found().items():
        assert {(len(outcome.short), len(outcome.long)) for outcome in of} == {(SHORTS, longs)}
        assert len({outcome.rows for outcome in of}) == 1


def test_what_the_page_says_in_words() -> None:
    fifo, q64, q16, q4, feedback = found()[SLOTS]
    assert fifo.quantile(0.5) > 1_000
    assert all(10 * outcome.quantile(0.5) < fifo.quantile(0.5) for outcome in (q64, q16, q4, feedback))
    assert fifo.again == 0 < q64.again < q16.again < q4.again
    assert max(outcome.calls for outcome in (q64, q16, q4)) < 1.02 * fifo.calls
    assert feedback.short[-1] < q4.short[-1]
    assert feedback.long[-1] > q4.long[-1] * 1.2
    alone = found()[1]
    assert len({outcome.quantile(0.5) for outcome in alone}) <= 2
