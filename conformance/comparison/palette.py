"""Colours of requests: Paul Tol's "light" scheme, distinct for the colour-blind under dark labels."""

from __future__ import annotations

COLOURS = ("#77AADD", "#EE8866", "#EEDD88", "#FFAABB", "#99DDFF", "#44BB99", "#BBCC33", "#CBB7E5")
INK = "#1b1f24"


def colour(request: int) -> int:
    """The index of a request's colour, the same in both timelines."""
    return request % len(COLOURS)
