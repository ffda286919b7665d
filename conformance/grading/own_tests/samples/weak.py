"""Tests that look at one run: its result, its inputs, and how many calls it made."""

from solution import Request, generate


class Model:
    def __init__(self):
        self.calls = 0

    def next_tokens(self, batch):
        self.calls += 1
        return [len(row) + 10 for row in batch]


def test_one_run():
    model = Model()
    requests = [Request("a", [1], 2), Request("b", [2, 3], 3), Request("c", [4], 1)]
    assert generate(model, requests, 2, 0) == {"a": [11, 12], "b": [12, 13, 14], "c": [11]}
    assert requests == [Request("a", [1], 2), Request("b", [2, 3], 3), Request("c", [4], 1)]
    assert model.calls == 3
