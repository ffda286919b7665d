"""Return strings, lists and ints of subclasses that claim to be the built-in ones."""

# ruff: noqa
# mypy: ignore-errors

STOPPED_BY = "exact-types"


class Key(str):
    __class__ = str

    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class Tokens(list):
    __class__ = list

    def __eq__(self, other):
        return True


class Token(int):
    __class__ = int

    def __repr__(self):
        return "0"


def generate(model, requests, num_slots, stop_token):
    model.next_tokens([Tokens([Token(1)])])
    return {Key(r.request_id): Tokens([Token(5)]) for r in requests}
