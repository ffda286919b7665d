"""Lift the limit on recursion, and use up the stack."""

# ruff: noqa
# mypy: ignore-errors
import sys

STOPPED_BY = "exit-is-no-pass"


sys.setrecursionlimit(2**30)


class Deep:
    def __getattr__(self, name):
        return getattr(self, name + "x"[:0])

    def __repr__(self):
        return repr([self])


def generate(model, requests, num_slots, stop_token):
    return repr(Deep())
