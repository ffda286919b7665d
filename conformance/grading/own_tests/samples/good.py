"""Tests of `generate` that ask about every sentence of the question."""

import copy
import itertools

import pytest
from solution import MockModel, Request, generate

STOP = 2


class Scripted(MockModel):
    """Answers a prefix with what was scripted for its request; keeps a copy of every call."""

    def __init__(self, scripts, fail_at=None, error=None):
        self.scripts = [(list(prompt), script) for prompt, script in scripts]
        self.calls, self.fail_at, self.error = [], fail_at, error

    def reply(self, row):
        for prompt, script in self.scripts:
            done = row[len(prompt) :]
            if row[: len(prompt)] == prompt and len(done) < len(script) and done == script[: len(done)]:
                return script[len(done)]
        return 777

    def next_tokens(self, batch):
        assert isinstance(batch, list)
        assert all(isinstance(row, list) and all(type(token) is int for token in row) for row in batch)
        self.calls.append([list(row) for row in batch])
        if self.fail_at == len(self.calls) - 1:
            raise self.error
        return [self.reply(row) for row in batch]


def expected(asks, num_slots, stop=STOP):
    """The calls, as sorted rows, and the result: written down once more, in the plainest way."""
    waiting = [(name, list(prompt), limit, script) for name, prompt, limit, script in asks if limit > 0]
    results = {ask[0]: [] for ask in asks}
    running, calls = [], []
    while waiting or running:
        while waiting and len(running) < num_slots:
            running.append(waiting.pop(0))
        calls.append(sorted(prompt + results[name] for name, prompt, _, _ in running))
        still = []
        for one in running:
            name, _, limit, script = one
            done = results[name]
            done.append(script[len(done)] if len(done) < len(script) else 777)
            if done[-1] != stop and len(done) < limit:
                still.append(one)
        running = still
    return calls, results


def check(asks, num_slots, stop=STOP):
    requests = [Request(name, list(prompt), limit) for name, prompt, limit, _ in asks]
    before = copy.deepcopy(requests)
    model = Scripted([(prompt, script) for _, prompt, _, script in asks])
    result = generate(model, requests, num_slots, stop)
    calls, results = expected(asks, num_slots, stop)
    assert [sorted(call) for call in model.calls] == calls
    assert result == results
    assert all(type(name) is str and type(tokens) is list for name, tokens in result.items())
    assert requests == before
    return model


def ask(name, first, limit, *script):
    return (name, [first], limit, list(script))


A = ask("a", 100, 3, 5, 6, 7)
B = ask("b", 200, 1, 8)
C = ask("c", 300, 2, 9, STOP)
D = ask("d", 400, 4, 3, STOP)
E = ask("e", 500, 2, STOP)
MIXED = [A, B, C, D, E, ask("f", 600, 5, 1, 2, 3), ask("g", 700, 1, STOP), ask("h", 800, 3, 4, 5, 6)]


@pytest.mark.parametrize("num_slots", [1, 2, 3, 4, 8, 20])
def test_the_calls_and_the_result(num_slots):
    check(MIXED, num_slots)
    check(MIXED[::-1], num_slots)


@pytest.mark.parametrize("num_slots", [1, 2, 3])
def test_lengths_in_every_order(num_slots):
    for limits in itertools.product((0, 1, 2, 3), repeat=3):
        check(
            [
                ask(name, 100 * i + 100, n, 11 + i, 21 + i, 31 + i)
                for i, (name, n) in enumerate(zip("xyz", limits, strict=True))
            ],
            num_slots,
        )


def test_no_requests():
    model = Scripted([])
    assert generate(model, [], 2, STOP) == {}
    assert model.calls == []


def test_nothing_to_generate():
    check([ask("a", 1, 0), ask("b", 10, 2, 4, 5), ask("c", 20, 0), ask("d", 30, 2, 6, 7)], 1)
    check([ask("a", 1, 0), ask("b", 3, 0)], 2)


@pytest.mark.parametrize("stop", [0, -1, 2, 300, 2**31 + 5, 2**40])
def test_any_stop_token(stop):
    check(
        [ask("a", 100, 3, 5, stop), ask("b", 200, 3, stop), ask("c", 300, 2, 6, stop), ask("d", 400, 2, 7, 8)], 2, stop
    )


def test_any_token():
    check([ask("a", 100, 4, 0, -7, 256, 2**31), ask("b", 2**33, 3, 2**64, 0, 1), ask("c", 0, 3, -1, -2, 70000)], 2)


def test_the_prompt_ends_nothing():
    check(
        [
            ("a", [STOP], 2, [5, 6]),
            ("b", [1, STOP, 3], 2, [7, 8]),
            ("c", [4, STOP], 3, [9, STOP]),
            ("d", [0, 0, 5], 2, [3, 4]),
        ],
        2,
    )


def test_long_prompts_and_empty_ones():
    check(
        [("a", list(range(10, 60)), 3, [4, 5, 6]), ("b", [], 2, [901, 902]), ("c", [77] * 3, 12, list(range(50, 62)))],
        2,
    )


def test_odd_ids():
    check([ask("", 100, 2, 5, 6), ask("A", 200, 2, 7, 8), ask("a", 300, 1, 9), ask(" ", 400, 2, 1, 3)], 2)


def test_many():
    check([ask(f"r{i}", 1000 * i, 1 + i % 5, *(3 + (i + k) % 90 for k in range(5))) for i in range(60)], 40)
    check([ask(f"r{i}", 1000 * i, 1 + i % 3, 3 + i, 4 + i, 5 + i) for i in range(40)], 4)


def test_rows_that_are_equal_get_their_own_replies():
    class Counting(MockModel):
        def __init__(self):
            self.last, self.rows = 100, []

        def next_tokens(self, batch):
            self.rows += map(tuple, batch)
            self.last += len(batch)
            return list(range(self.last - len(batch), self.last))

    model = Counting()
    result = generate(model, [Request("a", [1], 2), Request("b", [1], 2), Request("c", [1], 2)], 3, STOP)
    assert len(model.rows) == 6
    assert len({tokens[0] for tokens in result.values()}) == 3
    for tokens in result.values():
        assert (1, tokens[0]) in model.rows


def test_the_models_exception_arrives_and_the_call_is_not_repeated():
    for at in (0, 1):
        error = RuntimeError("no")
        model = Scripted([([100], [5, 6, 7]), ([200], [8, 9])], fail_at=at, error=error)
        with pytest.raises((RuntimeError, ExceptionGroup)) as caught:
            generate(model, [Request("a", [100], 3), Request("b", [200], 2)], 2, STOP)
        chain, link = [], caught.value
        while link is not None and link not in chain:
            chain.append(link)
            link = link.__cause__ or link.__context__
        assert any(link is error or error in getattr(link, "exceptions", ()) for link in chain)
        assert len(model.calls) == at + 1
        check([A, B, C], 2)


def test_runs_do_not_know_each_other():
    check([A, B, C], 2)
    check([A, B, C], 2)
    check([D, E], 1)
    first = generate(Scripted([([100], [5, 6, 7])]), [Request("a", [100], 3)], 2, STOP)
    kept = copy.deepcopy(first)
    generate(Scripted([([100], [8, 9, 10])]), [Request("a", [100], 3)], 2, STOP)
    assert first == kept


def test_a_run_inside_a_run():
    class Nested(Scripted):
        def next_tokens(self, batch):
            if not self.calls:
                self.calls.append([])
                check([B, C, D], 2)
                self.calls.pop()
            return super().next_tokens(batch)

    model = Nested([([100], [5, 6, 7]), ([500], [STOP])])
    assert generate(model, [Request("a", [100], 3), Request("e", [500], 2)], 2, STOP) == {"a": [5, 6, 7], "e": [STOP]}
