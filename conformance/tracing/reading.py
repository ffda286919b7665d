"""Read a trace line by line, and say in one line what is wrong with a file that is none."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from conformance.tracing.messages import LAST, VERSION, Header, Line, Message, Raise
from reference.vocabulary import Dialect

LONGEST = 64 * 2**20  # bytes of one line
DECODER = msgspec.json.Decoder(Line)


class TraceError(Exception):
    """The file is not a trace that can be judged; `line` counts from 1."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")
        self.line, self.what = line, what


class Trace:
    """The lines of a trace: its header at once, its messages as they are asked for, each with its line number."""

    def __init__(self, lines: Iterable[bytes], *, partial: bool = False) -> None:
        self.line, self._partial = 0, partial
        self._lines = iter(lines)
        self.header = self._header()
        self.dialect = self._dialect()
        self.ended = False

    def __iter__(self) -> Iterator[Message]:
        for raw in self._lines:
            self.line += 1
            if self.ended:
                raise TraceError(self.line, "nothing may come after the line that ends the trace")
            message = self._decode(raw)
            if isinstance(message, Header):
                raise TraceError(self.line, "a second header")
            over = isinstance(message, LAST) or (isinstance(message, Raise) and self.header.profile == "generate")
            self.ended = over
            yield message
        if not self.ended and not self._partial:
            last = "`return`, `raise` or `stopped`" if self.header.profile == "generate" else "`close` or `stopped`"
            raise TraceError(self.line, f"the trace is cut off after this line: the last one should be {last}")

    def _header(self) -> Header:
        self.line = 1
        first = self._decode(next(self._lines, b""))
        if not isinstance(first, Header):
            raise TraceError(1, "the first line should be of type `trace`")
        if first.version != VERSION:
            raise TraceError(1, f"version {first.version} of the format is unknown; this reads {VERSION}")
        if first.num_slots < 1:
            raise TraceError(1, f"num_slots is {first.num_slots}, and should be at least 1")
        if "tokens" in first.without and first.profile == "generate":
            raise TraceError(1, "a trace of `generate` without tokens cannot be judged; record it as an engine's")
        return first

    def _dialect(self) -> Dialect:
        try:
            return Dialect.of(self.header.dialect)
        except ValueError as error:
            raise TraceError(1, str(error)) from None

    def _decode(self, raw: bytes) -> Line:
        if len(raw) > LONGEST:
            raise TraceError(self.line, f"longer than {LONGEST} bytes")
        if not raw.strip():
            raise TraceError(self.line, "empty")
        try:
            message = DECODER.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise TraceError(self.line, _said(raw, error)) from None
        wanted = None if message.seq is None and self.line == 1 else self.line - 1
        if self.line > 1 and self.header.seq is None:
            wanted = None
        if message.seq != wanted:
            raise TraceError(self.line, f"seq is {message.seq} where {wanted} should come: lines were lost or moved")
        return message


def _said(raw: bytes, error: Exception) -> str:
    if isinstance(error, msgspec.ValidationError):
        return f"not a message of a trace: {error}"
    cut = "" if raw.endswith(b"\n") else " (the line is cut off)"
    return f"not JSON: {error}{cut}"


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """Open a file, `-` for the standard input; a name that ends in `.gz` is decompressed."""
    if name == "-":
        yield sys.stdin.buffer
        return
    with Path(name).open("rb") as file:
        if name.endswith(".gz"):
            with gzip.GzipFile(fileobj=file) as plain:
                yield cast(BinaryIO, plain)
        else:
            yield file


def lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, none of them read further than `LONGEST`."""
    while line := file.readline(LONGEST + 1):
        yield line
