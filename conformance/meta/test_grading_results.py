"""A folder of results: what is kept, what is used again, and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from conformance.grading import results
from conformance.grading.fingerprint import fingerprint, kit
from conformance.grading.pool import Task, failed
from conformance.grading.results import ABOUT, LINES, PREVIOUS, Results, ResultsError, Settings, read_results, renamed
from conformance.grading.schema import SCHEMA_VERSION, Verdict
from conformance.meta.test_cli import HONEST, complaint, invoke
from conformance.meta.test_grading_support import FLAWED, LOOPS, flawed

SETTINGS = Settings("kit", "quick", "infer", None)
PAIRS: list[tuple[str, str | None]] = [("a.py", "1"), ("b.py", "2"), ("c.py", "3")]
VERDICTS = [flawed(name) for name in ("static_batching", "extra_slot", "lifo_queue")]
NAMED = [renamed(verdict, name) for verdict, (name, _) in zip(VERDICTS, PAIRS, strict=True)]


def folder_of(tmp_path: Path, count: int = 3, settings: Settings = SETTINGS) -> Path:
    folder = tmp_path / "results"
    with Results(folder, settings, PAIRS) as found:
        for index in reversed(range(count)):
            found.put(index, NAMED[index])
    return folder


def reopened(folder: Path, pairs: list[tuple[str, str | None]] = PAIRS, settings: Settings = SETTINGS) -> Results:
    found = Results(folder, settings, pairs)
    with found:
        found.seen = list(found)  # type: ignore[attr-defined]
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != results.LOCK}


# -- What is kept ------------------------------------------------------------------------------------


def test_what_was_put_is_read_again_by_the_next_run_in_order_and_by_others_as_it_came(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    before = contents(folder)
    again = reopened(folder)
    assert (again.missing, again.seen) == ([], NAMED)  # type: ignore[attr-defined]
    assert again.counts == {"nonconforming": 3}
    assert list(read_results(folder)) == NAMED[::-1]
    assert contents(folder) == before  # nothing to drop, so nothing is written anew
    assert set(before) == {ABOUT, LINES}


@pytest.mark.parametrize("cut", [1, 2, 100, 10**4])
def test_a_line_that_was_cut_off_is_dropped_and_its_candidate_graded_again(tmp_path: Path, cut: int) -> None:
    folder = folder_of(tmp_path)
    data = (folder / LINES).read_bytes()
    last = len(data.splitlines(keepends=True)[-1])
    (folder / LINES).write_bytes(data[: -min(cut, last - 1)])
    assert len(list(read_results(folder))) == 2
    again = reopened(folder)
    assert (again.missing, again.unfinished, again.unreadable) == ([0], True, 0)
    with Results(folder, SETTINGS, PAIRS) as found:
        found.put(0, NAMED[0])
    assert sorted(read_results(folder), key=lambda v: v.candidate.target) == NAMED


@pytest.mark.parametrize("garbage", [b"\0" * 50 + b"\n", b"{}\n", b"\n", b'{"target":"a.py"\n'])
def test_a_line_that_is_none_is_dropped_and_kept_beside(tmp_path: Path, garbage: bytes) -> None:
    folder = folder_of(tmp_path)
    lines = (folder / LINES).read_bytes().splitlines(keepends=True)
    (folder / LINES).write_bytes(lines[0] + garbage + lines[2])
    again = reopened(folder)
    assert (again.missing, again.unreadable) == ([1], 1)
    assert (folder / LINES).read_bytes() == lines[2] + lines[0]
    assert garbage in (folder / PREVIOUS).read_bytes()


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, 0)

    class Full:
        def __init__(self, file: object) -> None:
            self.file = file

        def __getattr__(self, name: str) -> object:
            return getattr(self.file, name)

        def write(self, data: bytes) -> int:
            self.file.write(data[:10])  # type: ignore[attr-defined]
            raise OSError(28, "No space left on device")

    with Results(folder, SETTINGS, PAIRS) as found:
        found.put(0, NAMED[0])
        found._file = Full(found._file)  # type: ignore[assignment]
        with pytest.raises(OSError, match=r"No space left on device: '.*results\.jsonl'"):
            found.put(1, NAMED[1])
    assert list(read_results(folder)) == NAMED[:1]
    assert (folder / LINES).read_bytes().endswith(b"\n")


# -- What is used again ------------------------------------------------------------------------------


def test_only_what_changed_is_graded_again_and_what_vanished_drops_out(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    again = reopened(folder, [("a.py", "1"), ("b.py", "new"), ("d.py", "4")])
    assert (again.missing, again.changed) == ([1, 2], [])
    assert list(read_results(folder)) == NAMED[:1]
    assert (folder / PREVIOUS).read_bytes().count(b"\n") == 3


def test_the_same_file_under_other_names_is_known(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    again = reopened(folder, [("moved.py", "1"), ("copy.py", "1"), ("b.py", "2"), ("c.py", "3")])
    assert again.missing == []
    assert [v.candidate.target for v in read_results(folder)] == ["moved.py", "copy.py", "b.py", "c.py"]
    assert [v.score for v in read_results(folder)] == [NAMED[i].score for i in (0, 0, 1, 2)]
    swapped = reopened(folder, [("b.py", "1"), ("c.py", "2"), ("moved.py", "3"), ("copy.py", "1")])
    assert (swapped.missing, len(list(read_results(folder)))) == ([], 4)
    assert [v.candidate.sha256 for v in read_results(folder)] == [NAMED[i].candidate.sha256 for i in (0, 1, 2, 0)]


@pytest.mark.parametrize(
    ("name", "value"),
    [("kit", "x"), ("effort", "default"), ("dialect", "stop_token=excluded"), ("seed", 1), ("packages", True)],
)
def test_nothing_is_used_again_under_other_settings(tmp_path: Path, name: str, value: object) -> None:
    folder = folder_of(tmp_path)
    other = msgspec.structs.replace(SETTINGS, **{name: value})
    again = reopened(folder, settings=other)
    assert (again.missing, again.changed) == ([0, 1, 2], [name])
    assert list(read_results(folder)) == []
    assert (folder / PREVIOUS).read_bytes().count(b"\n") == 3
    assert reopened(folder, settings=other).changed == []


def test_an_error_of_ours_and_what_cannot_be_told_are_graded_again(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    pairs: list[tuple[str, str | None]] = [("a.py", "1"), ("exec:x", None)]
    with Results(folder, SETTINGS, pairs) as found:
        found.put(0, failed(Task(0, "a.py", "quick", 1), "we failed"))
        found.put(1, NAMED[1])
    assert reopened(folder, pairs).missing == [0, 1]


# -- What is refused ---------------------------------------------------------------------------------


def alien(folder: Path) -> None:
    (folder / "thesis.txt").write_text("the only copy")
    for name in (ABOUT, LINES):
        (folder / name).unlink()


def rewritten(old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / ABOUT).read_text()
        assert old in text
        (folder / ABOUT).write_text(text.replace(old, new))

    return change


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (alien, "is no folder of results, and is not empty: it holds 'thesis.txt'"),
        (
            rewritten(f'"schema_version": {SCHEMA_VERSION}', '"schema_version": 9'),
            "has schema_version 9; this slotspec reads and",
        ),
        (rewritten('"results_version": 1', '"results_version": 2'), "has results_version 2; this slotspec reads and"),
        (rewritten("{", "["), f"{ABOUT}: "),
        (rewritten('"kit"', '"kitten"'), f"{ABOUT}: "),
    ],
    ids=["alien", "schema", "results", "broken", "settings"],
)
def test_a_folder_that_is_not_ours_is_left_alone(tmp_path: Path, spoil: Callable[[Path], None], said: str) -> None:
    folder = folder_of(tmp_path)
    spoil(folder)
    before = contents(folder)
    assert said in complaint("grade", HONEST, FLAWED / "extra_slot.py", "--results", folder)
    assert contents(folder) == before


def test_a_folder_that_was_only_begun_is_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / results.LOCK).write_text("1")
    (folder / f".{ABOUT}.12ab").write_text("{")
    assert reopened(folder).missing == [0, 1, 2]


def test_two_runs_do_not_write_into_one_folder(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    before = contents(folder)
    with Results(folder, SETTINGS, PAIRS), pytest.raises(ResultsError, match=f"another run, process {os.getpid()}"):
        Results(folder, SETTINGS, []).__enter__()
    assert contents(folder) == before
    assert reopened(folder).missing == []


def test_what_cannot_be_a_folder_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "file is a file, not a folder" in complaint("grade", HONEST, "--results", tmp_path / "file")
    assert "there is no folder" in complaint("grade", HONEST, "--results", tmp_path / "gone" / "results")
    with pytest.raises(ResultsError, match="is no folder of results"):
        list(read_results(tmp_path))
    if os.geteuid():
        tmp_path.chmod(0o500)
        assert "ermission" in complaint("grade", HONEST, "--results", tmp_path / "new")


# -- Digests -----------------------------------------------------------------------------------------


def test_a_file_has_the_digest_that_other_tools_give_and_another_function_another(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"x = 1\n")
    plain = subprocess.run(["sha256sum", file], capture_output=True, text=True, check=True).stdout.split()[0]
    assert fingerprint(str(file)) == plain
    assert fingerprint(f"{file}:serve") == f"{plain}:serve"
    assert fingerprint(str(tmp_path / "gone.py")) is None


def test_a_module_and_a_program_are_told_by_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").mkdir()
    files = {"loop.main": tmp_path / "loop" / "other.py", "exec:cat loop.js -": tmp_path / "loop.js"}
    (tmp_path / "loop" / "__init__.py").write_text("")
    for target, file in files.items():
        file.write_text("1")
        first = fingerprint(target)
        assert first == fingerprint(target) != None  # noqa: E711  a chain reads better here
        file.write_text("2")
        assert fingerprint(target) != first
    assert fingerprint("exec:cat loop.js -") != fingerprint("exec:cat loop.js")
    assert fingerprint("exec:cat loop") is None
    assert fingerprint("no.such.module") is None


def test_the_kit_is_told_by_its_files_and_the_packages_that_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    now = kit.__wrapped__()
    assert now == kit.__wrapped__() != kit.__wrapped__(packages=True)
    read = Path.read_bytes
    seen: list[str] = []

    def read_bytes(path: Path) -> bytes:
        seen.append(path.name)
        return read(path) + b"#" * (path.name == "referee.py")

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    assert kit.__wrapped__() != now
    assert {"generate.py", "client.py", "sandbox.py", "refill_immediate.py"} <= set(seen)
    assert not [name for name in seen if name.startswith("test_")]
    monkeypatch.undo()
    monkeypatch.setattr("conformance.grading.fingerprint.version", lambda _: "0")
    assert kit.__wrapped__() != now


# -- The command -------------------------------------------------------------------------------------


def test_the_command_says_what_is_reused_and_grades_alike_files_once(tmp_path: Path) -> None:
    submissions, folder = tmp_path / "in", tmp_path / "out"
    submissions.mkdir()
    for name in ("one.py", "two.py"):
        (submissions / name).write_text("def generate(:\n")
    (submissions / "three.py").write_text("")
    options = (submissions, "--effort", "quick", "--results", folder, "--jobs", 1)
    first = invoke("grade", *options)
    assert first.exit_code == 1
    assert "0 of 3 reused, 3 to grade, 1 of them the same as another" in first.output
    found = {Path(v.candidate.target).name: v for v in read_results(folder)}
    assert {name: v.verdict for name, v in found.items()} == dict.fromkeys(("one.py", "two.py", "three.py"), "invalid")
    assert ("one.py" in found["one.py"].reason, "two.py" in found["two.py"].reason) == (True, True)
    (submissions / "three.py").write_text("generate = 1\n")
    second = invoke("grade", *options)
    assert "2 of 3 reused, 1 to grade\n" in second.output
    assert "3 candidates: 3 invalid" in second.output
    assert "3 of 3 reused, 0 to grade" in invoke("grade", *options).output
    assert "the verdicts there were made with another effort" in invoke("grade", *options, "--effort", "default").output


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path, number: signal.Signals) -> None:
    submissions, folder = tmp_path / "in", tmp_path / "out"
    submissions.mkdir()
    for copy in range(4):
        (submissions / f"{copy}.py").write_text(f"def generate(:  # {copy}\n")
    (submissions / "9.py").write_text(LOOPS)
    command = [sys.executable, "-P", "-m", "conformance.cli", "grade", str(submissions), "--results", str(folder)]
    with (tmp_path / "said").open("w") as said:
        started = subprocess.Popen([*command, "--effort", "quick", "--jobs", "2"], stdout=said, stderr=said)
        deadline = time.monotonic() + 20
        while _count(folder) < 4 and time.monotonic() < deadline:
            time.sleep(0.02)
        started.send_signal(number)
        started.wait(20)
    assert _count(folder) == 4
    if number == signal.SIGINT:
        assert started.returncode == 130
        assert f"4 of 5 verdicts are kept in {folder}; the same again goes on" in (tmp_path / "said").read_text()
    (submissions / "9.py").write_text("")
    resumed = invoke("grade", submissions, "--results", folder, "--effort", "quick", "--jobs", 1)
    assert "4 of 5 reused, 1 to grade" in resumed.output
    assert "5 candidates: 5 invalid" in resumed.output


def _count(folder: Path) -> int:
    try:
        verdicts: list[Verdict] = list(read_results(folder))
    except (ResultsError, OSError):
        return 0
    return len(verdicts)
