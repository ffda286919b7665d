"""The Dafny proof verifies, its broken copies do not, and its text does what the Python does.

Dafny is a program of its own: where it is absent these tests are skipped with the line that installs
it, but fail when the environment variable CI is set.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from reference import transitions
from reference.formal import dafny
from reference.formal.broken import BROKEN, Broken
from reference.generate import generate
from reference.vocabulary import Dialect, Request

TEXT = dafny.PROOF.read_text(encoding="utf-8")
VERIFIED = 214

needs_dafny = pytest.mark.usefixtures("installed")


@pytest.fixture(scope="session")
def installed() -> None:
    try:
        dafny.find_dafny()
    except dafny.DafnyMissingError as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))


# -- The text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["assume", "axiom", "extern", "verify", "expect", "include", "timeLimit"])
def test_nothing_is_taken_on_trust(word: str) -> None:
    assert not re.search(rf"\b{word}\b", re.sub(r"//.*", "", TEXT))


def test_every_lemma_method_and_function_has_a_body() -> None:
    declared = r"^(?:lemma|method|function(?: method)?|predicate(?: method)?)\b.*\n(?:(?!\{)\S.*\n|[ ]+\S.*\n)*"
    headers = re.findall(declared, TEXT, re.MULTILINE)
    assert len(headers) > 100
    assert all(TEXT.split(header, 1)[1].startswith("{\n") for header in headers)


SYSTEM: tuple[Callable[..., object], ...] = (
    transitions.initial,
    transitions.admit,
    transitions.advance,
    transitions.prefix,
    transitions.full,
    transitions.halted,
    transitions.no_idle_slot,
    *transitions.STATE_INVARIANTS,
)


@pytest.mark.parametrize("part", SYSTEM, ids=lambda part: part.__name__)
def test_each_part_of_the_python_system_has_its_namesake_in_the_proof(part: Callable[..., object]) -> None:
    name = "".join(word.title() for word in part.__name__.split("_"))
    assert re.search(rf"^(?:function|predicate)(?: method)? {name}\(", TEXT, re.MULTILINE)


@pytest.mark.parametrize("theorem", dafny.THEOREMS, ids=lambda theorem: theorem.name)
def test_a_theorem_names_its_proof_and_its_negative_controls(theorem: dafny.Theorem) -> None:
    stated = rf"^// Theorem: .*\n(?://.*\n)*(?:lemma|method) {theorem.proved_by}\("
    assert len(re.findall(stated, TEXT, re.MULTILINE)) == 1
    assert theorem.controls
    assert set(theorem.controls) <= {broken.name for broken in BROKEN}


def test_every_broken_copy_is_the_control_of_a_theorem() -> None:
    assert {broken.name for broken in BROKEN} == {name for theorem in dafny.THEOREMS for name in theorem.controls}


# -- The verdicts -------------------------------------------------------------------------------------


@needs_dafny
def test_the_proof_verifies() -> None:
    verdict = dafny.verify(TEXT, seconds=600)
    assert verdict.failures == ()
    assert verdict.verified == VERIFIED


def judge(broken: Broken) -> dafny.Verdict:
    return dafny.verify(broken.apply(TEXT), only=(broken.rejected_by, *broken.accepted_by), cores=1)


@pytest.fixture(scope="module")
def judged(request: pytest.FixtureRequest, installed: None) -> Iterator[dict[str, Future[dafny.Verdict]]]:
    """The verdict on each selected broken copy, two in the making at a time; xdist spreads them by itself."""
    selected = {item.callspec.params.get("broken") for item in request.session.items if hasattr(item, "callspec")}
    ahead = [broken for broken in BROKEN if broken in selected and "PYTEST_XDIST_WORKER" not in os.environ]
    with ThreadPoolExecutor(2) as pool:
        yield {broken.name: pool.submit(judge, broken) for broken in ahead}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_copy_is_rejected_where_expected(broken: Broken, judged: dict[str, Future[dafny.Verdict]]) -> None:
    verdict = judged[broken.name].result() if broken.name in judged else judge(broken)
    assert verdict.rejected_by == {broken.rejected_by}


# -- The runner ---------------------------------------------------------------------------------------

SUMMARY = "\nDafny program verifier finished with {} verified, {}\n"
GOOD = "Verifying Impl$$_module.__default.A ...\n  [0.1 s, 1 proof obligation]  verified\n"
BAD = (
    "Verifying Impl$$_module.__default.B ...\n  [0.1 s, 2 proof obligations]  error\n"
    "text.dfy(3,1): Error BP5003: A postcondition might not hold on this return path.\n"
)
LATE = (
    "Verifying Impl$$_module.__default.C ...\n  [9.9 s, 2 proof obligations]  timed out\n"
    "text.dfy(3,1): Verification of 'Impl$$_module.__default.C' timed out after 9 seconds\n"
)


def test_the_summary_and_the_failures_are_read() -> None:
    assert dafny.parse(GOOD + SUMMARY.format(1, "0 errors")) == (1, ())
    failure = dafny.Failure("B", "A postcondition might not hold on this return path.")
    assert dafny.parse(GOOD + BAD + SUMMARY.format(1, "1 error")) == (1, (failure,))


@pytest.mark.parametrize(
    "output",
    [
        "",
        GOOD,
        SUMMARY.format(0, "0 errors"),
        GOOD + SUMMARY.format(2, "0 errors"),
        GOOD + BAD + SUMMARY.format(1, "0 errors"),
        GOOD + LATE + SUMMARY.format(1, "0 errors, 1 time out"),
        GOOD + LATE + SUMMARY.format(1, "0 errors"),
        GOOD + "Prover error: line 1 column 2: out of memory\n" + SUMMARY.format(1, "0 errors"),
        GOOD + SUMMARY.format(1, "0 errors") * 2,
        "text.dfy(1,1): Error: invalid Declaration\n1 parse errors detected in text.dfy\n",
    ],
)
def test_what_is_not_a_clear_verdict_is_an_error(output: str) -> None:
    with pytest.raises(dafny.DafnyError):
        dafny.parse(output)


def test_absence_gives_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(dafny.DafnyMissingError, match="apt-get install dafny"):
        dafny.verify(TEXT)


@needs_dafny
def test_a_time_limit_is_an_error_and_no_verdict() -> None:
    with pytest.raises(dafny.DafnyError, match="no verdict within"):
        dafny.verify(TEXT, seconds=0.5)


@needs_dafny
def test_a_text_that_does_not_parse_is_an_error_and_no_rejection() -> None:
    with pytest.raises(dafny.DafnyError):
        dafny.verify(TEXT + "\nlemma", only=("Generate",))


# -- The bridge: what is proved is compiled, run, and compared with the Python ---------------------------

DRIVER = """
function method Mix(prefix: Tokens): int
{
  if prefix == [] then 1 else (Mix(prefix[..|prefix| - 1]) * 31 + prefix[|prefix| - 1] + 7) % 1009
}

function method Sample(rows: seq<Tokens>, turn: nat): Tokens
{
  if rows == [] then []
  else Sample(rows[..|rows| - 1], turn) + [(Mix(rows[|rows| - 1]) + turn * |rows|) % 4 - 1]
}

method ShowState(s: State, count: nat)
{
  var slots, finished, index := [], [], 0;
  while index < |s.slots| {
    slots := slots + [if s.slots[index].Holds? then s.slots[index].request else -1];
    index := index + 1;
  }
  index := 0;
  while index < count {
    if index in s.finished { finished := finished + [index]; }
    index := index + 1;
  }
  print "[", s.waiting, ",", slots, ",", s.generated, ",", finished, "],";
}

method Show(requests: seq<Request>, num_slots: nat, stop_token: Token, dialect: Dialect, pure: bool)
{
  var model := (earlier: seq<Call>, rows: seq<Tokens>) => Sample(rows, if pure then 0 else |earlier|);
  var outcome, calls := Generate(model, requests, num_slots, stop_token, dialect);
  var values, index := [], 0;
  while index < |requests| {
    values := values + [outcome.results[requests[index].request_id]];
    index := index + 1;
  }
  print "[", values, ",[";
  index := 0;
  while index < |calls| {
    print "[", calls[index].rows, ",", calls[index].replies, "],";
    index := index + 1;
  }
  print "null],[";
  var p := Problem(requests, num_slots, stop_token, dialect);
  var s := Initial(p);
  ShowState(s, |requests|);
  index := 0;
  while index < |calls| {
    s := Admit(s);
    ShowState(s, |requests|);
    var replies, slot, row := map[], 0, 0;
    while slot < num_slots {
      if s.slots[slot].Holds? { replies := replies[s.slots[slot].request := calls[index].replies[row]]; }
      if dialect.padded || s.slots[slot].Holds? { row := row + 1; }
      slot := slot + 1;
    }
    s := Advance(p, s, replies);
    ShowState(s, |requests|);
    index := index + 1;
  }
  print Halted(s), "]]\\n";
}
"""

Workload = tuple[list[Request], int, int, Dialect, bool]


def draw(rng: random.Random) -> Workload:
    requests = [
        Request(f"r{i}", [rng.randint(-1, 2) for _ in range(rng.randint(0, 2))], rng.randint(0, 4))
        for i in range(rng.randint(0, 7))
    ]
    dialect = Dialect(stop_token=rng.choice(("included", "excluded")), batch=rng.choice(("compact", "padded")))
    return requests, rng.randint(1, 4), rng.randint(-1, 2), dialect, rng.random() < 0.5


def in_dafny(workload: Workload) -> str:
    requests, num_slots, stop_token, dialect, pure = workload
    listed = ", ".join(f'Request("{r.request_id}", {r.prompt}, {r.max_tokens})' for r in requests)
    flags = [dialect.stop_token == "excluded", dialect.batch == "padded", pure]
    excluded, padded, is_pure = (str(flag).lower() for flag in flags)
    return f"  Show([{listed}], {num_slots}, {stop_token}, Dialect({excluded}, {padded}), {is_pure});\n"


class Sampler:
    """The language model of the driver, and a record of its calls."""

    def __init__(self, pure: bool) -> None:
        self.pure = pure
        self.calls: list[tuple[list[list[int]], list[int]]] = []

    def next_tokens(self, batch: list[list[int]]) -> list[int]:
        turn = 0 if self.pure else len(self.calls)
        tokens = [(self.mix(row) + turn * position) % 4 - 1 for position, row in enumerate(batch, 1)]
        self.calls.append((batch, tokens))
        return tokens

    @staticmethod
    def mix(prefix: list[int]) -> int:
        mixed = 1
        for token in prefix:
            mixed = (mixed * 31 + token + 7) % 1009
        return mixed


def as_data(state: transitions.State) -> list[object]:
    slots = [-1 if occupant is None else occupant for occupant in state.slots]
    return [list(state.waiting), slots, [list(tokens) for tokens in state.generated], sorted(state.finished)]


def in_python(workload: Workload) -> object:
    requests, num_slots, stop_token, dialect, pure = workload
    model = Sampler(pure)
    results = generate(model, requests, num_slots, stop_token, dialect=dialect)
    problem = transitions.Problem.of(requests, num_slots, stop_token, dialect)
    state = transitions.initial(problem)
    states: list[object] = [as_data(state)]
    for _, tokens in model.calls:
        state = transitions.admit(state)
        states.append(as_data(state))
        sent = [occupant for occupant in state.slots if dialect.batch == "padded" or occupant is not None]
        replies = {occupant: token for occupant, token in zip(sent, tokens, strict=True) if occupant is not None}
        state = transitions.advance(problem, state, replies)
        states.append(as_data(state))
    return [list(results.values()), [*model.calls, None], [*states, transitions.halted(state)]]


def differences(text: str, count: int) -> list[Workload]:
    """The workloads, of `count`, on which the Dafny `text` and the Python do not do the same."""
    rng = random.Random(20240229)
    workloads = [draw(rng) for _ in range(count)]
    main = "method Main()\n{\n" + "".join(in_dafny(workload) for workload in workloads) + "}\n"
    lines = dafny.execute(text + DRIVER + main).strip().splitlines()
    pairs = zip(workloads, lines, strict=True)
    return [workload for workload, line in pairs if json.loads(line) != json.loads(json.dumps(in_python(workload)))]


@needs_dafny
def test_the_proved_code_and_system_run_like_the_python() -> None:
    assert differences(TEXT, 200) == []


@needs_dafny
@pytest.mark.parametrize("name", ["last-in-first-out-anywhere", "no-stop-anywhere"])
def test_the_comparison_with_the_python_notices_a_broken_copy(name: str) -> None:
    (broken,) = (broken for broken in BROKEN if broken.name == name)
    assert len(differences(broken.apply(TEXT), 40)) > 5
