"""A folder of results: a line for each verdict, as it comes. What was killed goes on from it; what is known is kept.

    slotspec-results.json   what this is: the version, and the settings under which all of it was graded
    results.jsonl           {"target": ..., "fingerprint": ..., "verdict": {...}}, one candidate a line
    previous.jsonl          the same, as it was before something of it was dropped
    lock                    held by the run that writes

A verdict is used again for every candidate with the same fingerprint while the settings are the same.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import IO, Literal, NamedTuple

import msgspec

from conformance.grading.render_files import Spool, write_whole
from conformance.grading.schema import (
    LARGEST,
    SCHEMA_VERSION,
    SchemaError,
    Verdict,
    VerdictClass,
    decoded,
    encoded,
    read_as,
)

RESULTS_VERSION = 1
ABOUT, LINES, PREVIOUS, LOCK = "slotspec-results.json", "results.jsonl", "previous.jsonl", "lock"
SYNC_SECONDS = 5.0  # between two times that the disk is told to keep what it has


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What verdicts depend on, besides the candidate. `seed` is null where each run draws its own."""

    kit: str
    effort: Literal["quick", "default", "thorough"]
    dialect: str
    seed: int | None
    packages: bool = False
    require: list[str] = []
    profiles: list[str] = []

    def differing(self, other: Settings) -> list[str]:
        """The names of the settings that differ."""
        return [name for name in self.__struct_fields__ if getattr(self, name) != getattr(other, name)]


class About(msgspec.Struct):
    """The first thing that is read of a folder; unknown fields are for a version to come."""

    results_version: int
    schema_version: int
    settings: Settings


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """One candidate's result; `fingerprint` is null where none can be told, and the verdict is then not used again."""

    target: str
    fingerprint: str | None
    verdict: msgspec.Raw


class ResultsError(Exception):
    """A folder that cannot be used; one line that says why."""


def read_results(folder: Path) -> Iterator[Verdict]:
    """Yield the verdicts of a folder, whole lines only, also while it is being written.

    Raises ResultsError for a folder that holds none, and OSError.
    """
    read_about(folder)
    with (folder / LINES).open("rb") as file:
        for _, data in _whole_lines(file):
            with suppress(SchemaError):
                yield decoded(bytes(read_as(data, Line).verdict))


def read_about(folder: Path) -> About:
    """Read what a folder says of itself. Raises ResultsError and OSError."""
    try:
        about = read_as((folder / ABOUT).read_bytes(), About)
    except FileNotFoundError:
        raise ResultsError(f"{folder} is no folder of results: there is no {ABOUT} in it") from None
    except SchemaError as error:
        raise ResultsError(f"{folder / ABOUT}: {error}") from None
    for name, found, known in (
        ("results_version", about.results_version, RESULTS_VERSION),
        ("schema_version", about.schema_version, SCHEMA_VERSION),
    ):
        if found != known:
            raise ResultsError(f"{folder} has {name} {found}; this slotspec reads and writes {known}")
    return about


def _whole_lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield every whole line and where it begins."""
    place = 0
    while (data := file.readline(LARGEST)).endswith(b"\n"):
        yield place, data
        place += len(data)


class _Old(NamedTuple):
    """A line that is there already."""

    place: int
    length: int
    target: str
    fingerprint: str | None
    kind: VerdictClass


class _Kind(msgspec.Struct):
    verdict: VerdictClass


class Results(Spool):
    """The results of `candidates`, pairs of target and fingerprint, in `folder`; open it with `with`.

    On entering, what is known is kept, and what belongs to no candidate any more is dropped: `missing`
    are the indices that are still to be graded, `counts` the verdicts by class. `changed` names the settings for
    which nothing could be used again; `unreadable` counts the lines that are none, and `unfinished`
    tells whether the last one had been cut off.

    Raises ResultsError for a folder that is not ours, that another run is writing, or that cannot be
    written; nothing in it has then been changed.
    """

    def __init__(self, folder: Path, settings: Settings, candidates: Sequence[tuple[str, str | None]]) -> None:
        self.folder, self.settings, self.candidates = folder, settings, candidates
        self.counts: Counter[VerdictClass] = Counter()
        self.changed: list[str] = []
        self.unreadable, self.unfinished = 0, False
        self.added = 0
        self._places = [None] * len(candidates)
        self._synced = monotonic()

    @property
    def missing(self) -> list[int]:
        return [index for index, place in enumerate(self._places) if place is None]

    def __enter__(self) -> Results:
        try:
            _prepare(self.folder)
            self._lock = _locked(self.folder / LOCK)
            try:
                self._open()
            except BaseException:
                self._lock.close()
                raise
        except OSError as error:
            raise ResultsError(f"{error.filename or self.folder}: {error.strerror}") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            os.fsync(self._file.fileno())
        self._file.close()
        self._lock.close()

    def put(self, index: int, verdict: Verdict) -> None:
        """Append a verdict. Raises OSError; what was there before stays whole."""
        target, fingerprint = self.candidates[index]
        data = _encoded(target, fingerprint, verdict)
        place = self._file.seek(0, os.SEEK_END)
        try:
            _write(self._file, data)
        except OSError as error:
            with suppress(OSError):
                os.truncate(self.folder / LINES, place)
            error.filename = str(self.folder / LINES)
            raise
        self._places[index] = (place, len(data))
        self.counts[verdict.verdict] += 1
        self.added += 1
        if monotonic() > self._synced + SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = monotonic()

    def raw(self) -> Iterator[bytes]:
        for data in super().raw():
            yield bytes(msgspec.json.decode(data, type=Line).verdict)

    # -- What is there already -----------------------------------------------------------------------

    def _open(self) -> None:
        lines, about = self.folder / LINES, self.folder / ABOUT
        wanted = About(RESULTS_VERSION, SCHEMA_VERSION, self.settings)
        if not about.exists():
            write_whole({about: lambda file: _write_about(file, wanted)})
        known = read_about(self.folder)
        self.changed = self.settings.differing(known.settings)
        lines.touch()
        with lines.open("r+b") as file:
            old, end = self._read(file)
            self.unfinished = end < file.seek(0, os.SEEK_END)
            kept = self._kept(old)
            if not self.unreadable and self._all_there(old, kept):
                file.truncate(end)
                for index, line in kept.items():
                    self._places[index] = line.place, line.length
            else:
                self._rewrite(file, kept)
        if self.changed:  # after the lines of other settings are gone
            write_whole({about: lambda file: _write_about(file, wanted)})
        self._file = lines.open("a+b", buffering=0)

    def _read(self, file: IO[bytes]) -> tuple[list[_Old], int]:
        """Index what is there; also returns where the last whole line ends."""
        old: list[_Old] = []
        end = 0
        for place, data in _whole_lines(file):
            end = place + len(data)
            try:
                line = read_as(data, Line)
                kind = read_as(bytes(line.verdict), _Kind).verdict
            except SchemaError:
                self.unreadable += 1
                continue
            old.append(_Old(place, len(data), line.target, line.fingerprint, kind))
        return old, end

    def _kept(self, old: list[_Old]) -> dict[int, _Old]:
        """What of it is used again, by index. An error of ours never is."""
        if self.changed:
            return {}
        usable = [line for line in old if line.fingerprint and line.kind != "referee-error"]
        exact = {(line.target, line.fingerprint): line for line in usable}
        alike = {line.fingerprint: line for line in usable}
        kept: dict[int, _Old] = {}
        for index, (target, fingerprint) in enumerate(self.candidates):
            line = exact.get((target, fingerprint)) or alike.get(fingerprint)
            if fingerprint and line:
                kept[index] = line
                self.counts[line.kind] += 1
        return kept

    def _all_there(self, old: list[_Old], kept: dict[int, _Old]) -> bool:
        """Whether the file is as it should be: nothing to drop, and nothing to write under another name."""
        places = {line.place for index, line in kept.items() if line.target == self.candidates[index][0]}
        return len(places) == len(kept) == len(old)

    def _rewrite(self, file: IO[bytes], kept: dict[int, _Old]) -> None:
        """Write what is kept into a new file, and keep the old one as the previous one."""
        lines, previous, new = (self.folder / name for name in (LINES, PREVIOUS, f".{LINES}.new"))
        with new.open("wb") as fresh:
            for index, line in sorted(kept.items()):
                file.seek(line.place)
                data = file.read(line.length)
                target, fingerprint = self.candidates[index]
                if line.target != target:
                    data = _encoded(target, fingerprint, renamed(decoded(bytes(read_as(data, Line).verdict)), target))
                self._places[index] = fresh.tell(), len(data)
                fresh.write(data)
            fresh.flush()
            os.fsync(fresh.fileno())
        before = self.folder / f".{PREVIOUS}.new"
        before.unlink(missing_ok=True)
        _same(lines, before)
        os.replace(before, previous)
        os.replace(new, lines)


def renamed(verdict: Verdict, target: str) -> Verdict:
    """The verdict of a file that is the same but for its name."""
    was = verdict.candidate
    if was.target == target:
        return verdict
    reason = verdict.reason.replace(Path(was.target).name, Path(target).name)
    return msgspec.structs.replace(verdict, candidate=msgspec.structs.replace(was, target=target), reason=reason)


def _encoded(target: str, fingerprint: str | None, verdict: Verdict) -> bytes:
    return msgspec.json.encode(Line(target, fingerprint, msgspec.Raw(encoded(verdict)))) + b"\n"


def _write(file: IO[bytes], data: bytes) -> None:
    """Write all, with nothing kept back to be tried again when the file is closed."""
    while data:
        data = data[file.write(data) :]


def _write_about(file: IO[str], about: About) -> None:
    file.write(msgspec.json.format(msgspec.json.encode(about)).decode() + "\n")


def _same(path: Path, other: Path) -> None:
    """Give a file a second name; or a copy, where the file system has no second names."""
    link: Callable[[Path, Path], None] = os.link
    try:
        link(path, other)
    except OSError:
        shutil.copyfile(path, other)


def _prepare(folder: Path) -> None:
    """Make the folder, or see that it is one of ours. Raises ResultsError and OSError."""
    if not folder.parent.is_dir():
        raise ResultsError(f"there is no folder {folder.parent}")
    if folder.exists() and not folder.is_dir():
        raise ResultsError(f"{folder} is a file, not a folder")
    folder.mkdir(exist_ok=True)
    found = {path.name for path in folder.iterdir() if not path.name.startswith(f".{ABOUT}")}
    if ABOUT not in found and found - {LOCK}:
        raise ResultsError(f"{folder} is no folder of results, and is not empty: it holds {min(found - {LOCK})!r}")
    if ABOUT in found:
        read_about(folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ResultsError(f"the folder {folder} is not writable")


def _locked(path: Path) -> IO[str]:
    """Hold the folder; the system lets go of it when this process ends, however it ends. Raises ResultsError."""
    import fcntl  # not on Windows, where nothing is graded

    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read(20).strip()
        file.close()
        raise ResultsError(f"{path.parent} is being written by another run, process {holder or 'unknown'}") from None
    except OSError:
        file.close()
        raise
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file
