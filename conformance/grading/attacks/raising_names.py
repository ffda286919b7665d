"""Raise an exception whose text, and whose class's name, raise in their turn or never end."""

# ruff: noqa
# mypy: ignore-errors

STOPPED_BY = "exact-types"


class Meta(type):
    @property
    def __name__(cls):
        raise SystemExit(0)


class Trap(Exception, metaclass=Meta):
    def __str__(self):
        raise KeyboardInterrupt

    def __repr__(self):
        raise SystemExit(0)


def generate(model, requests, num_slots, stop_token):
    raise Trap
