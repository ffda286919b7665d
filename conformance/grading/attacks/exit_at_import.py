"""Leave with exit status 0 while being loaded."""

# ruff: noqa
# mypy: ignore-errors
import os

STOPPED_BY = "exit-is-no-pass"


os._exit(0)
