"""A history as a table of steps: what came before each, whose rows its call had, what it emitted."""

from __future__ import annotations

from conformance.engine.events import (
    Abort,
    Begin,
    Build,
    Call,
    History,
    Raise,
    Reply,
    Return,
    Stopped,
    Submit,
    Unfinished,
)
from conformance.engine.ledger import Settings
from conformance.engine.reading import Reading
from conformance.workloads import Tokens
from reference.vocabulary import Dialect

SHOWN = 4  # tokens of a long row
HEAD = ("step", "before it", "in the call", "inside the call", "emitted")


def table(history: History, dialect: Dialect, reading: Reading | None = None) -> str:
    """Draw the history; the reader, which has read nothing yet, names the owners of rows, up to the first fault."""
    reading = reading or Reading(Settings(history.num_slots, history.stop_token, dialect))
    rows: list[list[str]] = [list(HEAD)]
    row, asked, number = _blank(1), False, 1
    for event in history.events:
        reading.feed(event)
        if isinstance(event, Call):
            named = (
                " ".join(_name(entry.request_id) for entry in reading.ledger.flight) if reading.clean else _rows(event)
            )
            row[2] = f"{row[2]}; {named}" if row[2] else named
            asked = True
        elif isinstance(event, Reply):
            row[3] = _joined(row[3], "" if event.tokens is not None else "it fails")
            asked = False
        elif isinstance(event, Return | Raise | Stopped):
            row[4] = _result(event)
            rows.append(row)
            number += 1
            row = _blank(number)
        elif isinstance(event, Submit | Abort | Build):
            row[3 if asked else 1] = _joined(row[3 if asked else 1], _act(event))
        else:
            assert isinstance(event, Begin | Unfinished)
    rows += [row] if row[1] else []
    rows = _shortened(rows)
    widths = [max(len(line[column]) for line in rows) for column in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in rows]
    return "\n".join(lines)


def _shortened(rows: list[list[str]]) -> list[list[str]]:
    """Leave out the middle of three and more steps in a row in which nothing happened."""
    out: list[list[str]] = []
    for place, row in enumerate(rows):
        around = rows[max(0, place - 1) : place + 2]
        if len(around) == 3 and all(other[1:] == ["", "", "", "-"] for other in around):
            if out[-1][0] != "...":
                out.append(["...", "", "", "", ""])
        else:
            out.append(row)
    return out


def _blank(number: int) -> list[str]:
    return [str(number), "", "", "", ""]


def _joined(left: str, right: str) -> str:
    return f"{left}, {right}" if left and right else left or right


def _rows(event: Call) -> str:
    return event.malformed or " ".join(_row(row) for row in event.rows)


def _row(row: Tokens) -> str:
    """A row, cut in its middle where it is long."""
    if len(row) <= SHOWN:
        return str(list(row))
    return f"[{row[0]}, ..{len(row) - SHOWN + 1} more.., {', '.join(map(str, row[1 - SHOWN :]))}]"


def _act(event: Submit | Abort | Build) -> str:
    error = f" ({event.error})" if event.error else ""
    if isinstance(event, Build):
        return f"Engine{error}"
    return f"{'add' if isinstance(event, Submit) else 'abort'} {_name(event.request_id)}{error}"


def _name(request_id: str) -> str:
    return request_id if request_id and " " not in request_id else repr(request_id)


def _result(event: Return | Raise | Stopped) -> str:
    if isinstance(event, Raise):
        return f"raises {event.kind}"
    if isinstance(event, Stopped):
        return f"stopped: {event.why}"
    return (
        event.malformed
        or ", ".join(" ".join(_parts(o.request_id, o.token, o.finish_reason)) for o in event.outputs)
        or "-"
    )


def _parts(name: str, token: int | None, reason: str | None) -> list[str]:
    return [_name(name), *([] if token is None else [str(token)]), *([f"({reason})"] if reason else [])]
