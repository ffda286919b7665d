"""Return a dict that is equal to everything and answers every question."""

# ruff: noqa
# mypy: ignore-errors

STOPPED_BY = "exact-types"


class Anything(dict):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return 0

    def __len__(self):
        return 3

    def __iter__(self):
        return iter("abc")

    def items(self):
        return Anything()

    def __getattribute__(self, name):
        return lambda *a, **k: Anything()


def generate(model, requests, num_slots, stop_token):
    return Anything()
