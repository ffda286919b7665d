"""Never finish loading."""

# ruff: noqa
# mypy: ignore-errors

STOPPED_BY = "time-limit"


while True:
    pass
