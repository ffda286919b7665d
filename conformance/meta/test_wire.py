"""The wire: the same record as in process, whoever speaks; and nothing but the protocol gets through."""

from __future__ import annotations

import os
import random
import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.catalogue import judge
from conformance.expected import matches
from conformance.grading import protocol
from conformance.grading.isolated import IsolatedImplementation, LoadFailed
from conformance.grading.protocol import Garbage
from conformance.grading.sandbox import Contained, Sandbox
from conformance.history import Raised, Returned, Run, Unended
from conformance.targets import TargetError, load
from conformance.workloads import EXCEPTIONS, Ask, Disagreement, Fault, Session, Workload
from reference.vocabulary import Dialect

ROOT = Path(__file__).resolve().parents[2]
HONEST = ("slot_array", "functional", "coroutines", "padded", "every_axis", "excluded")
WRONG = (
    "admission_lost_on_double_finish",
    "rows_as_tuples",
    "replies_by_prefix",
    "restarts_from_prompt",
    "served_twice",
    "shared_output_list",
    "static_batching",
    "stop_token_masked_in_prompt",
    "no_requests_still_called",
    "one_call_too_many",
    "extra_slot",
    "sorted_by_id",
)
PAIR = Workload.of([("a", [1], 2, [5, 6]), ("b", [2], 3, [7, 0])], num_slots=2, stop_token=0)
RIGHT = """
    def generate(model, requests, num_slots, stop_token):
        out, waiting, running = {r.request_id: [] for r in requests}, [r for r in requests if r.max_tokens > 0], []
        while waiting or running:
            while waiting and len(running) < num_slots:
                running.append(waiting.pop(0))
            tokens = model.next_tokens([r.prompt + out[r.request_id] for r in running])
            for r, token in zip(list(running), tokens, strict=True):
                out[r.request_id].append(token)
                if token == stop_token or len(out[r.request_id]) == r.max_tokens:
                    running.remove(r)
        return out
"""


def drawn(rng: random.Random, *, faults: bool) -> Workload:
    """Draw a workload with odd tokens, ids and faults."""
    stop = rng.choice((0, 1, -7, 2**31 + 1, 2**70))
    asks = []
    for i in range(rng.randint(0, 5)):
        limit = rng.randint(0, 5)
        script = [1000 * i + k + 10 for k in range(limit)]
        if script and rng.random() < 0.5:
            script[rng.randrange(limit)] = stop
        prompt = tuple(rng.choice((100 * i + 1, stop, 5)) for _ in range(rng.randint(0, 3)))
        asks.append(Ask(rng.choice(("r", "", 'é\n"\\', "\x00")) + str(i), prompt, limit, tuple(script)))
    fault = None
    if faults and rng.random() < 0.4:
        kind = rng.choice(("raises", "short", "long", "tampers", "keeps"))
        fault = Fault(kind, rng.randint(0, 3), rng.choice(list(EXCEPTIONS)))  # type: ignore[arg-type]
    slots = rng.randint(1, 5) if rng.random() < 0.95 else 0
    try:
        return Workload(tuple(asks), slots, stop, sampled=rng.random() < 0.2, fault=fault)
    except Disagreement:
        return drawn(rng, faults=faults)


def sessions(number: int, *, faults: bool = True) -> list[Session]:
    rng = random.Random(7)
    draw = [[drawn(rng, faults=faults) for _ in range(rng.randint(2, 4))] for _ in range(number)]
    return [Session(tuple(d[:2] if n % 10 == 0 else d), nested=n % 10 == 0) for n, d in enumerate(draw)]


@pytest.fixture
def candidate(tmp_path: Path) -> Callable[[str], str]:
    """Write a candidate file."""

    def write(code: str) -> str:
        path = tmp_path / "candidate.py"
        path.write_text(textwrap.dedent(code))
        return str(path)

    return write


@pytest.fixture
def speaker(tmp_path: Path) -> Callable[..., str]:
    """Write a program that says hello, waits for the first run, and then sends just these bytes."""

    def write(data: str, hello: str = '["hello",1,[],["generate"],[],""]') -> str:
        path = tmp_path / "speaker.py"
        path.write_text(
            "import os, time\n"
            f"os.write(1, {hello!r}.encode() + b'\\n')\n"
            "os.read(0, 65536)\n"
            f"data = {data}\n"
            "while data:\n    data = data[os.write(1, data):]\n"
            "time.sleep(60)\n"
        )
        return f"exec:{sys.executable} {path}"

    return write


def one(target: str, workload: Workload = PAIR, **options: Any) -> tuple[Run, str]:
    """Run one workload; the run, and how the process ended."""
    with IsolatedImplementation(target, **options) as implementation:
        (run,) = implementation.run(Session((workload,)))
        return run, implementation.last_end.kind if implementation.last_end else ""


# --- the same record ---


@pytest.mark.parametrize("name", [*HONEST, *(f"flawed/{name}" for name in WRONG)])
def test_the_record_is_the_same_as_in_process(name: str) -> None:
    """Calls, results, exceptions and reported facts agree, run by run, faults and nested runs included."""
    local, runs = load(str(ROOT / "variants" / f"{name}.py")), 0
    with IsolatedImplementation(str(ROOT / "variants" / f"{name}.py")) as isolated:
        assert isolated.dialect == local.dialect
        for session in sessions(60):
            expected, found = local.run(session), isolated.run(session)
            assert found == expected
            assert isolated.last_end is None
            runs += len(found)
    # Where an inner run does not come about, because the outer one makes no call, there is none to compare.
    assert runs >= 160


def test_the_reference_takes_the_dialect_over_the_wire() -> None:
    """A function with a `dialect` parameter gets the one that was chosen."""
    chosen = Dialect(max_tokens="total", stop_token="excluded", batch="padded")
    local = load("reference.generate", chosen)
    with IsolatedImplementation("reference.generate", chosen) as isolated:
        runs = [(local.run(session), isolated.run(session)) for session in sessions(40)]
    assert len(runs) == 40
    assert all(expected == found for expected, found in runs)


@pytest.mark.parametrize("name", sorted(EXCEPTIONS))
def test_every_exception_of_the_model_reaches_the_candidate(name: str, candidate: Callable[[str], str]) -> None:
    """It is raised as its class, and surfaces when it is let through."""
    run, end = one(candidate(RIGHT), PAIR.with_fault("raises", 1, name))
    assert isinstance(run.outcome, Raised)
    assert (run.outcome.kind, run.outcome.surfaced, end) == (name, True, "")


def test_a_large_run_gets_through() -> None:
    """What a right run has to send is never too much, nor is a line longer than a pipe."""
    large = Workload.of([(f"r{i}", [i] * 3000, 40, [7 + i] * 40) for i in range(8)], num_slots=8, stop_token=0)
    run, _ = one(str(ROOT / "variants" / "slot_array.py"), large)
    sent = sum(len(str(row)) for call in run.calls for row in call.rows)
    assert sent > 2 * protocol.FREE_BYTES
    assert matches(run, Dialect())


def test_the_node_client_conforms() -> None:
    """A program in another language that speaks the protocol is judged as any other."""
    if shutil.which("node") is None:
        assert not os.environ.get("CI"), "node is missing"
        pytest.skip("node is not installed (Debian: apt install nodejs)")
    runs = 0
    with IsolatedImplementation(f"exec:node {ROOT / 'variants' / 'loop.mjs'}", seconds=10) as isolated:
        for session in sessions(60):
            for run in isolated.run(session):
                assert not judge(run, Dialect()).violations
                runs += 1
        assert isolated.last_end is None
    assert runs >= 160


# --- sessions, and fresh processes ---

COUNTING = """
    runs = []

    def generate(model, requests, num_slots, stop_token):
        runs.append(1)
        return {"runs": [len(runs)]}
"""


def counted(runs: list[Run]) -> list[int]:
    return [run.outcome.pairs[0][1][0] for run in runs if isinstance(run.outcome, Returned)]


def test_runs_share_a_process_and_fresh_ones_do_not(candidate: Callable[[str], str]) -> None:
    """State passes from run to run and from session to session, and into nothing fresh."""
    with IsolatedImplementation(candidate(COUNTING)) as isolated:
        assert counted(isolated.run(Session((PAIR, PAIR)))) == [1, 2]
        assert counted(isolated.run(Session((PAIR,)))) == [3]
        with isolated.fresh() as fresh:
            assert counted(fresh.run(Session((PAIR, PAIR)))) == [1, 2]
            assert counted(isolated.run(Session((PAIR,)))) == [4]
            assert counted(fresh.run(Session((PAIR,)))) == [3]
        assert counted(isolated.run_fresh(Session((PAIR,)))) == [1]
        with isolated.fresh(restart=True) as restarted:
            assert counted(restarted.run(Session((PAIR,)))) == [1]


def test_fresh_processes_are_forks_of_few(candidate: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Many fresh runs start one sandbox more, not many."""
    starts, start = [], Sandbox.start

    def counting(self: Sandbox) -> Contained:
        starts.append(1)
        return start(self)

    monkeypatch.setattr(Sandbox, "start", counting)
    with IsolatedImplementation(candidate(COUNTING)) as isolated:
        assert [counted(isolated.run_fresh(Session((PAIR,)))) for _ in range(20)] == [[1]] * 20
    assert len(starts) == 2


def test_a_candidate_with_threads_is_started_anew_instead(candidate: Callable[[str], str]) -> None:
    """A fork would lose threads that were started while loading."""
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    with IsolatedImplementation(candidate(code + textwrap.dedent(COUNTING))) as isolated:
        assert counted(isolated.run(Session((PAIR, PAIR)))) == [1, 2]
        assert counted(isolated.run_fresh(Session((PAIR,)))) == [1]


def test_a_crash_ends_the_session_and_the_next_one_is_fresh(candidate: Callable[[str], str]) -> None:
    """The run that crashed is on record with its calls; those after it are not."""
    crashing = "import os\n" + textwrap.dedent(COUNTING).replace(
        "    return", "    if len(runs) == 2:\n        model.next_tokens([[1]])\n        os._exit(3)\n    return"
    )
    with IsolatedImplementation(candidate(crashing)) as isolated:
        for _ in range(3):
            runs = isolated.run(Session((PAIR,) * 5))
            assert counted(runs) == [1]
            assert len(runs) == 2
            assert runs[1].outcome == Unended("it exited with status 3")
            assert len(runs[1].calls) == 1
            assert isolated.last_end is not None
            assert isolated.last_end.kind == "crashed"
        nested = isolated.run(Session((PAIR, PAIR), nested=True))
        assert len(nested) == 1


def test_too_many_calls_end_a_run_as_in_process(candidate: Callable[[str], str]) -> None:
    """The wording is that of the driver in this process, and the process lives on."""
    path = candidate("def generate(model, *a):\n    while True:\n        model.next_tokens([[1]])\n")
    run, end = one(path)
    assert [run] == load(path).run(Session((PAIR,)))
    assert (type(run.outcome), end) == (Unended, "")


# --- what cannot be loaded ---


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1", "no callable 'generate' in"),
        ("def generate(:", "loading it failed with SyntaxError"),
        ("raise RuntimeError('a\\nb')", "loading it failed with RuntimeError: a b"),
        ("DIALECT = {'batch': 'wide'}\ndef generate(): ...", "DIALECT: dialect batch='wide' should be one of"),
        ("DIALECT = 3\ndef generate(): ...", "DIALECT: unknown dialect axis ''"),
        ("import os; os._exit(4)", "loading it failed: it exited with status 4"),
        ("while True: ...", "loading it failed: it took more than 1 seconds"),
        ("import conformance.expected", "loading it failed with ModuleNotFoundError"),
    ],
)
def test_a_candidate_that_cannot_be_loaded_says_why_in_a_line(
    code: str, message: str, candidate: Callable[[str], str]
) -> None:
    """LoadFailed carries one line that names the target."""
    with pytest.raises(LoadFailed) as caught:
        IsolatedImplementation(candidate(code), startup=1.0)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("target", ["nowhere.py", "no_such_package.x", "exec:no-such-program", "exec:'"])
def test_a_target_that_is_not_there_is_an_error_of_the_caller(target: str) -> None:
    """It is no fault of a candidate's."""
    with pytest.raises(TargetError) as caught:
        IsolatedImplementation(target)
    assert not isinstance(caught.value, LoadFailed)


# --- strict reading ---


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b'["hello"]',
        b'["verdict","conforming"]',
        b'["call",0,0,[[1]],0]',
        b'["call",0,0]',
        b'["call",0,0,[[true]]]',
        b'["call",0,0,[[1.0]]]',
        b'["call",0,0,[[1e2]]]',
        b'["call",0,0,[["1"]]]',
        b'["call",0,0,[1]]',
        b'["call",0,0,{"0":[1]}]',
        b'["call",-1,0,[[1]]]',
        b'["call",true,0,[[1]]]',
        b'["call",0,9007199254740993,[[1]]]',
        b'["call",0,0,[[01]]]',
        b'["call",0,0,[[NaN]]]',
        b'["call",0,0,[[1' + b"0" * 5000 + b"]]]",
        b'["call",0,0,[[1]]]\x00',
        b'["call",0,0,[[1]]] []',
        b'\xef\xbb\xbf["call",0,0,[[1]]]',
        b'["call",0,0,' + b"[" * 200_000,
        b"[" * 200_000,
        b'["return",0,{"a":[1],"a":[2]},"","",""]',
        b'["return",0,[["a",[1],[2]]],"","",""]',
        b'["return",0,[["\xff",[1]]],"","",""]',
        b'["return",0,[["\\ud800",[1]]],"","",""]',
        b'["return",0,[],"","","' + b"x" * 501 + b'"]',
        b'["raised",0,"E","",1,false,"",""]',
        b'["malformed",0,0,"' + b"x" * 501 + b'"]',
        b'["ended",1e3]',
        b'["ended",99999]',
        b'["hello",1,[' + b",".join([b'["a","b"]'] * 17) + b'],[],[],""]',
    ],
    ids=lambda line: line[:40].decode(errors="replace"),
)
def test_a_line_that_is_no_message_is_garbage(line: bytes) -> None:
    """Nothing but exactly a message is read, and nothing but Garbage is raised."""
    with pytest.raises(Garbage):
        protocol.decoded(line)


def test_a_line_is_weighed_before_it_is_read() -> None:
    """One byte more than the longest line is too much, even of nothing."""
    fits = b'["call",0,0,[]' + b" " * (protocol.LONGEST_LINE - 15) + b"]"
    assert protocol.decoded(fits) == protocol.Called(0, 0, ())
    with pytest.raises(Garbage, match="a line of more than"):
        protocol.decoded(fits + b" ")


GARBAGE = {
    "an unknown message": ("b'[\"verdict\",1]\\n'", "Invalid value 'verdict'"),
    "a second hello": ('b\'["hello",1,[],[],[],""]\\n\'', "it sent 'hello' during run 0"),
    "a call of another run": ("b'[\"call\",7,0,[[1]]]\\n'", "call 0 of run 7 out of turn"),
    "a call too early": ("b'[\"call\",0,1,[[1]]]\\n'", "call 1 of run 0 out of turn"),
    "a return of another run": ('b\'["return",1,[],"","",""]\\n\'', "it sent 'return' during run 0"),
    "an end of no fork": ("b'[\"ended\",0]\\n'", "it sent 'ended' during run 0"),
    "a return while a call is open": (
        'b\'["call",0,0,[[1]]]\\n["return",0,[],"","",""]\\n\'',
        "it spoke again before its call was answered",
    ),
    "more bytes than any right run": ("b'[' * (2 * 2**20)", "more than any right run sends"),
}


@pytest.mark.parametrize("name", sorted(GARBAGE))
def test_what_is_out_of_turn_ends_the_run(name: str, speaker: Callable[..., str]) -> None:
    """The run is on record as unended, and the candidate's process as having spoken garbage."""
    data, message = GARBAGE[name]
    run, end = one(speaker(data))
    assert isinstance(run.outcome, Unended)
    assert message in run.outcome.why
    assert end == "garbage"


def test_a_return_twice_ends_the_session(speaker: Callable[..., str]) -> None:
    """What comes when nothing was asked does not wait for the next run to be taken as its answer."""
    with IsolatedImplementation(speaker('b\'["return",0,[],"","",""]\\n\' * 2')) as isolated:
        runs = isolated.run(Session((PAIR,)))
        assert isinstance(runs[0].outcome, Returned)
        assert isolated.last_end is not None
        assert isolated.last_end.kind == "garbage"


def test_a_line_without_end_is_cut_off(speaker: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds while the line is still coming."""
    monkeypatch.setattr(protocol, "LONGEST_LINE", 100_000)
    run, end = one(speaker("b'[' * 300_000"))
    assert isinstance(run.outcome, Unended)
    assert (run.outcome.why, end) == ("it sent a line of more than 100000 bytes", "garbage")


@pytest.mark.parametrize(
    ("hello", "message"),
    [
        ('["hello",2,[],["generate"],[],""]', "speaks version 2 of the protocol, not 1"),
        ('["call",0,0,[]]', "its first line is not a hello"),
        ("hello", "it broke the protocol"),
        ('["hello",1,[],[],[],"no engine here"]', "no engine here"),
        ('["hello",1,[["batch","wide"]],[],[],""]', "DIALECT: dialect batch='wide'"),
    ],
)
def test_a_wrong_hello_cannot_be_loaded(hello: str, message: str, speaker: Callable[..., str]) -> None:
    """Whatever is wrong with it."""
    with pytest.raises(LoadFailed, match=message):
        IsolatedImplementation(speaker("b''", hello))


def test_time_is_limited_whether_it_is_silent_or_trickles(candidate: Callable[[str], str]) -> None:
    """A run that says something all the time has no more of it."""
    silent, end = one(candidate("import time\ndef generate(*a):\n    time.sleep(60)\n"), seconds=0.3)
    assert (silent.outcome, end) == (Unended("it had not returned after 0.3 seconds"), "timeout")
    trickling = """
        import os, time
        def generate(*a):
            while True:
                for fd in range(10, 14):
                    try:
                        os.write(fd, b"[")
                    except OSError:
                        pass
                time.sleep(0.01)
    """
    run, end = one(candidate(trickling), seconds=0.3)
    assert (run.outcome, end) == (Unended("it had not returned after 0.3 seconds"), "timeout")


def test_a_candidate_that_never_reads_does_not_stall_the_referee(speaker: Callable[..., str]) -> None:
    """Writing to it is under the same clock."""
    large = Workload.of([("a", list(range(200_000)), 1, [7])], num_slots=1, stop_token=0)
    run, end = one(speaker("b''"), large, seconds=0.5)
    assert (run.outcome, end) == (Unended("it had not returned after 0.5 seconds"), "timeout")


def test_exact_types_are_told_before_json_hides_them(candidate: Callable[[str], str]) -> None:
    """Tuples, bools, floats and subclasses are reported by their names."""
    returns = {
        "{'a': (1,)}": "a value of type tuple for 'a'",
        "{'a': [True]}": "a token of type bool for 'a'",
        "{'a': [1.0]}": "a token of type float for 'a'",
        "{1: []}": "a key of type int",
        "[('a', [1])]": "a list",
        "{'a': [10**5000]}": "a token of more than 4300 digits for 'a'",
        "{chr(0xd800): []}": "a key that is not Unicode text: '\\ud800'",
    }
    for value, problem in returns.items():
        run, end = one(candidate(f"def generate(*a):\n    return {value}\n"))
        assert (run.outcome, end) == (Returned((), problem), "")


def test_a_candidate_without_a_frame_left_has_its_error_told(candidate: Callable[[str], str]) -> None:
    """Wherever in a call the recursion limit is met, the run ends with RecursionError, and the next one is served."""
    deep = """
    import sys

    sys.setrecursionlimit(200)

    def generate(model, requests, num_slots, stop_token):
        def deeper(left):
            return deeper(left - 1) if left else model.next_tokens([[1]])

        return {"a": deeper(len(requests[0].prompt))}
    """
    asked = tuple(Workload.of([("a", [1] * left, 1, [7])], num_slots=1, stop_token=0) for left in range(170, 200))
    with IsolatedImplementation(candidate(deep)) as implementation:
        outcomes = [run.outcome for run in implementation.run(Session(asked))]
    ended = ["raised" if isinstance(o, Raised) and o.kind == "RecursionError" else o for o in outcomes]
    good = Returned((("a", (777,)),))
    assert ended == [good] * ended.count(good) + ["raised"] * ended.count("raised")
    assert len(ended) == len(asked)
    assert 5 <= ended.count(good) <= 25


def test_the_specification_shows_a_session_that_is_one() -> None:
    """The lines of docs/protocol.md are what the referee sends and reads."""
    text = (ROOT / "docs" / "protocol.md").read_text().split("## A session")[1]
    said = [line.strip()[3:] for line in text.splitlines() if line.strip()[:3] in ("<- ", "-> ")]
    workload = Workload.of([("a", [1], 2, [5, 0]), ("b", [2], 1, [7])], num_slots=2, stop_token=0)
    run, _ = one(str(ROOT / "variants" / "slot_array.py"), workload)
    hello, *calls, ended = (protocol.decoded(line.encode()) for line in (said[0], said[2], said[4], said[6]))
    assert isinstance(hello, protocol.Hello)
    assert isinstance(ended, protocol.Finished)
    assert [call.rows for call in calls if isinstance(call, protocol.Called)] == [call.rows for call in run.calls]
    assert run.outcome == Returned(ended.pairs)
    sent = [protocol.run(0, workload), *(protocol.reply(call.replies or ()) for call in run.calls)]
    assert [line.decode().strip().replace(", ", ",") for line in sent] == [said[1], said[3], said[5]]
