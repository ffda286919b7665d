"""The shape of `verdict.json`, version 2. `docs/verdict-schema.md` says what each field means.

Tokens may be of any size, far beyond 2**53; a reader in another language needs a parser that keeps them.
"""

from __future__ import annotations

from typing import Literal, TypeVar, get_args

import msgspec

from conformance.workloads import EXCEPTIONS, Ask, Disagreement, Fault, FaultKind, Session, Workload

SCHEMA_VERSION = 2
LARGEST = 64 * 2**20  # bytes of a verdict that is read

VerdictClass = Literal["conforming", "nonconforming", "crashed", "timeout", "invalid", "referee-error"]
Status = Literal["holds", "violated", "not judged", "not applicable"]
Charge = Literal["charged", "consequence"]
LineStatus = Literal["passed", "failed", "not graded"]
Source = Literal["fixed", "declared", "inferred", "undetermined"]
ProfileName = Literal["cached", "engine", "fair"]
How = Literal["file", "source", "module", "program"]
Request = tuple[str, list[int], int, list[int]]
T = TypeVar("T")


class _Struct(msgspec.Struct, forbid_unknown_fields=True):
    """Unknown fields are refused, so that a misspelt or newer one is noticed."""


class WorkloadData(_Struct, omit_defaults=True):
    """A workload; `requests` are rows of (request_id, prompt, max_tokens, replies)."""

    requests: list[Request]
    num_slots: int
    stop_token: int
    otherwise: int = 777
    sampled: bool = False
    fault: tuple[str, int, str] | None = None


class SessionData(_Struct, omit_defaults=True):
    """Runs in one process; `nested`: the second one inside the first model call of the first."""

    workloads: list[WorkloadData]
    nested: bool = False


class Picture(_Struct):
    """Who held which slot in which call: `lanes[s][c]` is a request's index, or null; `tokens[s][c]` its reply.

    Column 0 is call `first`, counted from 1. `call` and `slot` are the offending cell; a `call` of null
    stands for the end of the run, a `slot` of null for no slot in particular. `note` says what is wrong there.
    """

    lanes: list[list[int | None]]
    tokens: list[list[int | None]]
    first: int
    call: int | None
    slot: int | None
    note: str
    more_slots: int = 0


class Counterexample(_Struct):
    """A session whose run number `run`, counted from 0, breaks an invariant at `call`, counted from 1.

    `call` is one more than the number of calls where the end is what is wrong; `place` says it in words.
    `replayed`: it was seen again in a process in which nothing else had run. `ended` tells how the
    process ended, where it did.
    """

    session: SessionData
    run: int
    call: int
    place: str
    expected: str
    observed: str
    found_by: str
    replayed: bool
    ended: Literal["", "crashed", "timeout", "garbage", "memory"] = ""
    picture: Picture | None = None


class InvariantReport(_Struct):
    """What came of one invariant. `judged` counts the runs in which it could be told."""

    name: str
    level: Literal["MUST", "SHOULD"]
    status: Status
    evidence: Literal["wire", "reported"]
    judged: int
    charge: Charge | None = None
    blocked_by: list[str] = []
    counterexample: Counterexample | None = None


class LineReport(_Struct):
    """One line of the rubric; `charged` are the invariants that failed it."""

    id: str
    title: str
    status: LineStatus
    points: float
    charged: list[str] = []


class Score(_Struct):
    earned: float
    possible: float
    ratio: float


class Conflict(_Struct):
    """An axis that the candidate reads in two ways: for each value a workload whose run has no other reading."""

    axis: str
    readings: dict[str, WorkloadData]


class DialectReport(_Struct):
    """The dialect that the candidate was held to, and where it comes from.

    `explains` lists the dialects that explain every run; `separating` is the smallest workload that
    was run and that the default dialect does not explain.
    """

    axes: dict[str, str]
    source: Source
    declared: dict[str, str]
    explains: list[str]
    conflicts: list[Conflict] = []
    separating: WorkloadData | None = None


class Candidate(_Struct):
    """What was graded; `sha256` is of the file or the text, null where there is no single one."""

    target: str
    how: How
    sha256: str | None


class Bound(_Struct):
    """A leg of the search: how many sessions it tried, and whether it was exhausted."""

    name: str
    bound: str
    sessions: int
    exhausted: bool


class Sandbox(_Struct):
    layers: list[str]
    contained: bool


class ScriptData(_Struct, omit_defaults=True):
    """One life of an engine; `moves` are rows of (where, when, what, which, kind), as in `docs/engine.md`."""

    requests: list[Request]
    moves: list[tuple[Literal["step", "call"], int, Literal["add", "abort", "fail"], int, str]]
    num_slots: int
    stop_token: int
    otherwise: int = 777
    tampers: bool = False
    quantum: int | None = None


class ProfileExample(_Struct, omit_defaults=True):
    """A counterexample of a profile, as data and as `text`: a script (of an engine) or a session (of cached runs).

    `beside` is the script of a second engine, `nested` inside the calls of the first; `same_model`: one
    model object serves all runs of the session.
    """

    place: str
    expected: str
    observed: str
    found_by: str
    text: str
    script: ScriptData | None = None
    beside: ScriptData | None = None
    nested: bool = False
    session: SessionData | None = None
    same_model: bool = False


class PromiseReport(_Struct):
    """What came of one promise of a profile. `judged` counts the lives or runs in which it could be told."""

    name: str
    level: Literal["MUST", "SHOULD"]
    status: Status
    evidence: Literal["wire", "reported"]
    judged: int
    blocked_by: list[str] = []
    example: ProfileExample | None = None


class ProfileReport(_Struct):
    """What came of one follow-up question; `skipped` where the candidate has not its shape, with the reason.

    `score` is the share of the MUST promises that were told and hold.
    """

    profile: ProfileName
    verdict: VerdictClass | Literal["skipped"]
    reason: str
    dialect: dict[str, str]
    score: Score
    invariants: list[PromiseReport]
    bounds: list[Bound]
    runs: int


class Verdict(_Struct):
    """Everything about one candidate; all reports are renderings of it."""

    schema_version: int
    slotspec_version: str
    candidate: Candidate
    verdict: VerdictClass
    reason: str
    dialect: DialectReport
    score: Score
    should: Score
    rubric: list[LineReport]
    invariants: list[InvariantReport]
    effort: Literal["quick", "default", "thorough"]
    seed: int
    bounds: list[Bound]
    runs: int
    calls: int
    seconds: float
    sandbox: Sandbox
    profiles: list[ProfileReport] = []


class SchemaError(ValueError):
    """Data that is no verdict, session or workload of this schema; one line that says why."""


def encoded(verdict: Verdict) -> bytes:
    """One line of JSON."""
    return msgspec.json.encode(verdict)


def decoded(data: bytes) -> Verdict:
    """Read a verdict strictly. Raises SchemaError."""
    if len(data) > LARGEST:
        raise SchemaError(f"it is larger than {LARGEST // 2**20} MiB")
    verdict = read_as(data, Verdict)
    if verdict.schema_version != SCHEMA_VERSION:
        raise SchemaError(f"its schema_version is {verdict.schema_version}; this slotspec reads {SCHEMA_VERSION}")
    return verdict


def read_as(data: bytes, kind: type[T]) -> T:
    """Decode strictly. Raises SchemaError."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise SchemaError(" ".join(str(error).split())[:300]) from None


def workload_data(workload: Workload) -> WorkloadData:
    requests = [(a.request_id, list(a.prompt), a.max_tokens, list(a.script)) for a in workload.asks]
    fault = workload.fault and (workload.fault.kind, workload.fault.call, workload.fault.exception)
    slots, stop = workload.num_slots, workload.stop_token
    return WorkloadData(requests, slots, stop, workload.otherwise, workload.sampled, fault)


def session_data(session: Session) -> SessionData:
    return SessionData([workload_data(workload) for workload in session.workloads], session.nested)


def workload_of(data: WorkloadData) -> Workload:
    """Build the workload. Raises SchemaError where the data does not make one."""
    asks = tuple(Ask(i, tuple(prompt), limit, tuple(script)) for i, prompt, limit, script in data.requests)
    try:
        return Workload(asks, data.num_slots, data.stop_token, data.otherwise, data.sampled, _fault(data.fault))
    except Disagreement as error:
        raise SchemaError(f"the replies disagree: {error}") from None


def _fault(data: tuple[str, int, str] | None) -> Fault | None:
    if data is None:
        return None
    kind, call, exception = data
    for known in get_args(FaultKind):
        if kind == known and call >= 0 and exception in EXCEPTIONS:
            return Fault(known, call, exception)
    raise SchemaError(f"there is no fault {list(data)}")


def session_of(data: SessionData) -> Session:
    """Build the session. Raises SchemaError where the data does not make one."""
    if not data.workloads or (data.nested and len(data.workloads) != 2):
        raise SchemaError("a session has at least one workload, and a nested one has two")
    return Session(tuple(map(workload_of, data.workloads)), data.nested)
