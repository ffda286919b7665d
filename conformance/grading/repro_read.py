"""Read a session from what a report printed: JSON, the code of `Workload.of`, or a verdict."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from conformance.grading.render_files import read_verdicts
from conformance.grading.schema import (
    SchemaError,
    SessionData,
    Verdict,
    WorkloadData,
    read_as,
    session_of,
    workload_of,
)
from conformance.workloads import EXCEPTIONS, Session, Workload


def read_session(text: str, invariant: str | None) -> tuple[Session | None, Verdict | None]:
    """Read JSON, or a file that holds JSON, code, or a verdict. Raises SchemaError, and OSError for the file."""
    if text.lstrip().startswith("{"):
        return _from_json(text.encode()), None
    path = Path(text)
    data = path.read_bytes()
    if data.lstrip().startswith((b"Workload", b"Session")):
        return _from_code(data.decode(errors="replace")), None
    if b'"schema_version"' in data[:200]:
        verdicts = read_verdicts(path)
        return _from_verdict(verdicts[0], invariant), verdicts[0]
    return _from_json(data), None


def _from_json(data: bytes) -> Session:
    try:
        return Session((workload_of(read_as(data, WorkloadData)),))
    except SchemaError as error:
        if b'"workloads"' not in data:
            raise SchemaError(f"it is no workload: {error}") from None
    return session_of(read_as(data, SessionData))


def _from_verdict(verdict: Verdict, invariant: str | None) -> Session | None:
    order = sorted(verdict.invariants, key=lambda report: (report.charge != "charged", report.level != "MUST"))
    for report in order:
        if report.counterexample and invariant in (None, report.name):
            return session_of(report.counterexample.session)
    return None


def _from_code(text: str) -> Session:
    """Read the code that a report prints; names and literals only, and nothing of it is executed."""
    try:
        return _session(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError) as error:
        raise SchemaError(f"it is not the code of a workload: {error}") from None


def _session(node: ast.expr) -> Session:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "Session" and isinstance(node.args[0], ast.Tuple):
        nested = any(keyword.arg == "nested" and ast.literal_eval(keyword.value) for keyword in node.keywords)
        return Session(tuple(map(_workload, node.args[0].elts)), nested)
    return Session((_workload(node),))


def _workload(node: ast.expr) -> Workload:
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != "Workload.of":
        raise SchemaError("it is not `Workload.of(...)`")
    options: dict[str, Any] = {word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg}
    workload = Workload.of(ast.literal_eval(node.args[0]), **options)
    if workload.fault and workload.fault.exception not in EXCEPTIONS:
        raise SchemaError(f"there is no exception {workload.fault.exception!r}")
    return workload
