"""Verdicts kept on disk while more are made, and the report files, written whole or not at all."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

import msgspec

from conformance.grading.schema import LARGEST, SCHEMA_VERSION, SchemaError, Verdict, decoded, encoded, read_as

Write = Callable[[IO[str]], None]


class Spool:
    """Verdicts in a file without a name, so that a hundred thousand of them need no memory."""

    def __init__(self, count: int) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="slotspec-")  # noqa: SIM115  closed by __exit__
        self._places: list[tuple[int, int] | None] = [None] * count

    def put(self, index: int, verdict: Verdict) -> None:
        data = encoded(verdict)
        self._places[index] = (self._file.seek(0, os.SEEK_END), len(data))
        self._file.write(data)

    def raw(self) -> Iterator[bytes]:
        """Yield the verdicts, as they were put, in the order of their index."""
        for place in self._places:
            if place is not None:
                self._file.seek(place[0])
                yield self._file.read(place[1])

    def __iter__(self) -> Iterator[Verdict]:
        return map(decoded, self.raw())

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


class Batch(msgspec.Struct, forbid_unknown_fields=True):
    """Many verdicts in one file."""

    schema_version: int
    verdicts: list[msgspec.Raw]


def write_json(spool: Spool, file: IO[str], *, single: bool, lines: bool) -> None:
    """Write one verdict; or many, in one document or one a line."""
    if single or lines:
        for data in spool.raw():
            file.write(data.decode() + "\n")
        return
    file.write(f'{{"schema_version":{SCHEMA_VERSION},"verdicts":[')
    for number, data in enumerate(spool.raw()):
        file.write(",\n" if number else "\n")
        file.write(data.decode())
    file.write("\n]}\n")


def read_verdicts(path: Path) -> list[Verdict]:
    """Read a file that holds one verdict, a batch, or one a line. Raises SchemaError and OSError."""
    if path.stat().st_size > LARGEST:
        raise SchemaError(f"it is larger than {LARGEST // 2**20} MiB")
    data = path.read_bytes()
    if not data.strip():
        raise SchemaError("it is empty")
    with suppress(SchemaError):
        batch = read_as(data, Batch)
        return [decoded(bytes(verdict)) for verdict in batch.verdicts]
    lines = [line for line in data.splitlines() if line.strip()]
    with suppress(SchemaError):
        return [decoded(line) for line in lines]
    return [decoded(data)]


def unusable(path: Path) -> str:
    """Say why a report cannot be written there, or nothing; asked before anything is graded."""
    place = path.resolve()
    if place.exists() and not place.is_file():
        return "it is not a regular file"
    if not place.parent.is_dir():
        return f"there is no folder {path.parent}"
    if not os.access(place.parent, os.W_OK):
        return f"the folder {path.parent} is not writable"
    return ""


def write_whole(contents: Mapping[Path, Write]) -> None:
    """Write every file to a new name beside it, then put all in their places. Raises OSError; nothing is half done."""
    written: dict[Path, Path] = {}
    try:
        for path, write in contents.items():
            place = path.resolve()
            temporary = place.with_name(f".{place.name[:100]}.{secrets.token_hex(4)}")
            written[place] = temporary
            with temporary.open("x", encoding="utf-8", newline="\n") as file:
                write(file)
        for place, temporary in written.items():
            os.replace(temporary, place)
    finally:
        for temporary in written.values():
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
