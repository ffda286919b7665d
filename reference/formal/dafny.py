"""Run the Dafny proof `batching.dfy`, and say what it proves.

`verify` gives a verdict on a text; `execute` compiles a text without verifying it and runs its Main.
Both need the program `dafny` (version 2.3, as Debian and Ubuntu package it).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROOF = Path(__file__).with_name("batching.dfy")
INSTALL = "dafny is not installed; install it with: apt-get install dafny"


class DafnyMissingError(RuntimeError):
    """The program `dafny` is not on the path."""


class DafnyError(RuntimeError):
    """A run that gave no verdict: a syntax error, a time limit, a crash, output that is not understood."""


@dataclass(frozen=True)
class Failure:
    """One obligation that does not hold: the lemma, method or function around it, and Dafny's message."""

    name: str
    message: str


@dataclass(frozen=True)
class Verdict:
    """`verified` counts the obligations' groups that hold (a body and a contract are one each)."""

    verified: int
    failures: tuple[Failure, ...]
    seconds: float

    @property
    def rejected_by(self) -> frozenset[str]:
        return frozenset(failure.name for failure in self.failures)


@dataclass(frozen=True)
class Theorem:
    """One theorem in plain words; `proved_by` names the lemma or method of `batching.dfy` that states it.

    `controls` names the broken copies (`broken.py`) that show the theorem to depend on what it says.
    """

    name: str
    statement: str
    scope: str
    proved_by: str
    controls: tuple[str, ...]
    method: str = "Dafny, batching.dfy"


EVERYTHING = "all requests, slots, limits, stop tokens, dialects and language models, stateful ones included"
PURE = "all requests, slots, limits, stop tokens, dialects and pure language models"

THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        "dafny/alone",
        "generate returns for every request exactly what it would get alone, and for nothing else",
        PURE,
        "GenerateForPureModel",
        ("no-stop-anywhere", "prefix-is-prompt-anywhere", "model-not-pure", "contradiction"),
    ),
    Theorem(
        "dafny/together",
        "a request gets the tokens that a run of its own gives it, whatever it shares the slots with",
        PURE,
        "TogetherAsAlone",
        ("contradiction",),
    ),
    Theorem(
        "dafny/refinement",
        "generate ends, its calls are a run of the transition system from Initial to Halted, and its result is what "
        "that run generated; a reply of the wrong length raises, is the last call, and returns nothing",
        EVERYTHING,
        "Generate",
        (
            *("one-refill-a-step", "last-in-first-out", "reply-shifted", "no-stop", "limit-off-by-one", "slot-kept"),
            *("stop-token-left-in", "prefix-is-prompt", "zero-admitted", "short-reply-taken", "returns-early"),
            *("empty-call", "no-slots", "equal-ids"),
        ),
    ),
    Theorem(
        "dafny/determined",
        "the language model determines the run: two runs of the system with the same one make the same calls",
        EVERYTHING,
        "RunIsDetermined",
        ("model-forgotten",),
    ),
    Theorem(
        "dafny/every-call",
        "a call has one row for each running request, at most num_slots; no slot idles beside a waiting request; "
        "admission is first in, first out; a request with nothing to generate is never sent",
        EVERYTHING,
        "EveryCall",
        (
            *("last-in-first-out-anywhere", "zero-admitted-anywhere", "slot-kept-anywhere"),
            *("one-refill-a-step-anywhere", "static-batching-anywhere"),
        ),
    ),
    Theorem(
        "dafny/bounded",
        "a run has at most as many calls as the limits add up to",
        EVERYTHING,
        "CallsAreBounded",
        ("limit-off-by-one-anywhere",),
    ),
)


def find_dafny() -> str:
    """Return the path of `dafny`. Raises DafnyMissingError, with the install line, where there is none."""
    path = shutil.which("dafny")
    if path is None:
        raise DafnyMissingError(INSTALL)
    return path


def verify(text: str, *, only: Sequence[str] = (), seconds: float = 300, cores: int = 2) -> Verdict:
    """Verify `text`, or of it only the lemmas, methods and functions named in `only`.

    Raises DafnyError where the run gives no verdict within `seconds`.
    """
    started = time.monotonic()
    wanted = [f"/proc:{kind}$$_module.__default.{name}" for name in only for kind in ("Impl", "CheckWellformed")]
    status, output = _run(text, ["/compile:0", "/trace", "/errorLimit:1", f"/vcsCores:{cores}", *wanted], seconds)
    verified, failures = parse(output)
    if (status == 0) != (not failures):
        raise DafnyError(f"dafny ended with status {status} and {len(failures)} errors:\n{output}")
    return Verdict(verified, failures, time.monotonic() - started)


def execute(text: str, *, seconds: float = 300) -> str:
    """Compile `text` without verifying it, run its Main, and return what that printed."""
    status, output = _run(text, ["/noVerify", "/compile:4"], seconds)
    _, running, printed = output.partition("\nRunning...\n")
    if status != 0 or not running:
        raise DafnyError(f"dafny ended with status {status}:\n{output}")
    return printed


def _run(text: str, options: list[str], seconds: float) -> tuple[int, str]:
    """Give `text` to dafny; return its exit status and what it printed. Ends it, its provers too, at the limit."""
    program = find_dafny()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "text.dfy")
        file.write_text(text, encoding="utf-8")
        process = subprocess.Popen(
            [program, "/nologo", *options, file.name],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise DafnyError(f"dafny gave no verdict within {seconds:g} seconds") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
    return process.returncode, output


# Dafny 2.3 sets an option that newer provers do not know. They say so, list those they know, and go on.
_NOISE = re.compile(
    r"^Prover error: line \d+ column \d+: unknown parameter 'model_compress'\nLegal parameters are:\n(?:  \w+ \(.*\n)+",
    re.MULTILINE,
)
_BLOCK = re.compile(r"^Verifying (?:\w+)\$\$_module\.__default\.([\w']+) \.\.\.\n", re.MULTILINE)
_OUTCOME = re.compile(r"^  \[[\d.]+ s, \d+ proof obligations?\]  (.+)$", re.MULTILINE)
_FAILURE = re.compile(r"^text\.dfy\(\d+,-?\d+\): Error(?: \w+)?: (.+)$", re.MULTILINE)
_SUMMARY = re.compile(r"^Dafny program verifier finished with (\d+) verified, (\d+) errors?$", re.MULTILINE)


def parse(output: str) -> tuple[int, tuple[Failure, ...]]:
    """Return the verified count and the failures in what `dafny /trace` printed.

    Raises DafnyError unless every part of the output agrees with its summary: time-outs, inconclusive
    obligations, syntax errors and unknown messages of the prover are no verdict.
    """
    text = _NOISE.sub("", output.replace("\r\n", "\n"))
    summaries = _SUMMARY.findall(text)
    _, *blocks = _BLOCK.split(text)
    named = list(zip(blocks[::2], blocks[1::2], strict=True))
    outcomes = [_OUTCOME.findall(block) for _, block in named]
    failures = tuple(Failure(name, message) for name, block in named for message in _FAILURE.findall(block))
    good = sum(outcome == ["verified"] for outcome in outcomes)
    bad = sum(outcome in (["error"], ["errors"]) for outcome in outcomes)
    counted = [(str(good), str(len(failures)))] == summaries and good + bad == len(named) > 0
    unread = "Prover error" in text or len(re.findall("Error", text)) != len(failures)
    if not counted or unread or bool(failures) != bool(bad):
        raise DafnyError(f"dafny gave no clear verdict:\n{text}")
    return good, failures
