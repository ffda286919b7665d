"""Tests that take the reference's habits for promises: the order of rows in a batch."""

from solution import Request, generate


class Model:
    def __init__(self):
        self.calls = []

    def next_tokens(self, batch):
        self.calls.append([list(row) for row in batch])
        return [row[0] + len(row) for row in batch]


def test_rows_stand_in_the_order_of_slots():
    model = Model()
    generate(model, [Request("a", [100], 1), Request("b", [200], 3), Request("c", [300], 2)], 2, 0)
    assert model.calls[1] == [[300], [200, 201]]
