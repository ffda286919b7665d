"""Grade one candidate: open it behind the wire, examine it, pronounce."""

from __future__ import annotations

import secrets
import shlex
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

from conformance.grading.dialects import DEFAULT, Readings, compatible
from conformance.grading.isolated import IsolatedImplementation, LoadFailed
from conformance.grading.isolated_targets import is_file, split
from conformance.grading.profiles import Budget, examined, offered
from conformance.grading.referee import Examination
from conformance.grading.referee_legs import EFFORTS, Effort, plan
from conformance.grading.referee_watch import Tally, Watched
from conformance.grading.sandbox import CONTAINING, SandboxError
from conformance.grading.schema import Candidate, Sandbox, Verdict
from conformance.grading.verdict import Circumstances, absent, pronounce, unexamined, with_profiles
from conformance.targets import TargetError, parse_dialect
from reference.vocabulary import Dialect

SECONDS: dict[Effort, float] = {"quick": 30, "default": 120, "thorough": 1200}
INFER = "infer"
Factory = Callable[..., Any]


def grade(
    candidate: str | Path = "",
    *,
    source: str | bytes | None = None,
    effort: Effort = "default",
    dialect: str | Dialect = INFER,
    seed: int | None = None,
    require: Sequence[str] = (),
    packages: bool = False,
    profiles: Sequence[str] = (),
    factory: Factory = IsolatedImplementation,
) -> Verdict:
    """Grade a candidate and return the verdict.

    `candidate` is a path, any other target of the command line, or source text of more than one line.
    Text that others wrote belongs into `source`: it is never taken for the name of anything, and
    `candidate` is then only what the verdict calls it. `dialect` is "infer" or `axis=value,...`; `seed`
    is drawn when it is None; `require` names sandbox layers to insist on; `packages` shows the installed
    packages to the candidate; `profiles` names those to grade, of core, cached, engine and fair: all that
    it offers when it is empty.

    Raises TargetError for a target that is not there, SandboxError for a sandbox that cannot be had,
    and ValueError for bad arguments. Whatever a candidate does is in the verdict, and raises nothing.
    """
    if effort not in EFFORTS:
        raise ValueError(f"effort={effort!r} should be one of {', '.join(EFFORTS)}")
    fixed = dialect if isinstance(dialect, Dialect) else None if dialect == INFER else parse_dialect(dialect)
    drawn = secrets.randbits(32) if seed is None else seed
    budget = Budget(effort, drawn, SECONDS[effort])
    label = str(candidate)
    if source is None and isinstance(candidate, str) and "\n" in candidate:
        source, label = candidate, ""
    if source is None and not label:
        raise ValueError("give a candidate, or its source")

    def opened(target: str, called: str) -> Any:
        try:
            return factory(target, fixed, require=require, packages=packages)
        except LoadFailed as error:
            reason = str(error).partition(": ")[2] or str(error)
            raise LoadFailed(reason.replace(split(target)[0], split(called)[0]), error.kind) from None

    if source is None:
        return _graded(described(label), partial(opened, label, label), budget, fixed, profiles)
    data = source if isinstance(source, bytes) else source.encode(errors="surrogatepass")
    what = Candidate(label or "<source>", "file" if is_file(label) else "source", sha256(data).hexdigest())
    with _written(data, label) as target:
        return _graded(what, partial(opened, target, what.target), budget, fixed, profiles)


@contextmanager
def _written(source: bytes, label: str) -> Iterator[str]:
    """Write a candidate's source into a file, and yield the target that it is then."""
    place, function = split(label) if is_file(label) else ("candidate.py", "generate")
    with tempfile.TemporaryDirectory(prefix="slotspec-") as folder:
        path = Path(folder) / Path(place).name
        path.write_bytes(source)
        yield str(path) if function == "generate" else f"{path}:{function}"


def _graded(
    what: Candidate, opened: Callable[[], Any], budget: Budget, fixed: Dialect | None, profiles: Sequence[str]
) -> Verdict:
    effort, seed = budget.effort, budget.seed
    started = perf_counter()
    declared: dict[str, str] = {}

    def given(layers: Sequence[str] = ()) -> Circumstances:
        contained = all(layer in layers for layer in CONTAINING)
        return Circumstances(what, effort, seed, declared, fixed is not None, Sandbox(list(layers), contained))

    try:
        candidate = opened()
    except LoadFailed as error:
        return unexamined(given(), "invalid", str(error), fixed or DEFAULT, perf_counter() - started)
    try:
        declared = declaration(candidate)
        possible = (fixed,) if fixed else compatible(declared)
        if not getattr(candidate, "has_generate", True) or (profiles and "core" not in profiles):
            reports = examined(candidate, budget, profiles)
            return with_profiles(absent(given(candidate.layers), candidate.dialect), reports, perf_counter() - started)
        watched = Watched(candidate, Tally(SECONDS[effort]), candidate.dialect)
        examination = Examination(watched, Readings(possible, chosen=candidate.dialect))
        examination.examine(plan(effort, seed), scale=effort != "quick")
        verdict = pronounce(examination, given(candidate.layers), perf_counter() - started)
        if not offered(getattr(candidate, "abilities", ())):
            return verdict
        reports = examined(candidate, budget, profiles, watched.dialect)
        return with_profiles(verdict, reports, perf_counter() - started)
    except (SandboxError, TargetError):
        raise
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return unexamined(given(candidate.layers), "referee-error", reason, fixed or DEFAULT, perf_counter() - started)
    finally:
        candidate.close()


def declaration(candidate: Any) -> dict[str, str]:
    """What the candidate says of its dialect; all of it where it can be told which to take."""
    if hasattr(candidate, "declared"):
        return dict(candidate.declared)
    hello = candidate._held[0].hello
    return dict(vars(candidate.dialect)) if "choose" in hello.abilities else dict(hello.dialect)


def described(target: str) -> Candidate:
    """Say what a target is, with the digest of its file."""
    if target.startswith("exec:"):
        words: list[str] = []
        with suppress(ValueError):
            words = shlex.split(target.removeprefix("exec:"))
        files = [word for word in words[1:] if Path(word).is_file()]
        return Candidate(target, "program", digest(files[0]) if len(files) == 1 else None)
    if is_file(target):
        return Candidate(target, "file", digest(split(target)[0]))
    return Candidate(target, "module", None)


def digest(path: str) -> str | None:
    """SHA-256 of a file; None where it cannot be read."""
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None
