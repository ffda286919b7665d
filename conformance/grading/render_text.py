"""A verdict as text: one screen, for somebody who has never seen this project."""

from __future__ import annotations

import shlex
import textwrap
from typing import Any

import msgspec

from conformance.catalogue import CATALOGUE
from conformance.grading.schema import (
    Counterexample,
    DialectReport,
    InvariantReport,
    Picture,
    ProfileReport,
    PromiseReport,
    SessionData,
    Verdict,
    WorkloadData,
)
from conformance.report import DOCS
from reference.vocabulary import Dialect

WIDTH = 79
INLINE = 230  # characters of a workload that still goes on the command line
MOST_REQUESTS = 4


def clean(text: str) -> str:
    """Escape what a terminal would obey: a candidate's words reach this text."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in text)


def screen(verdict: Verdict) -> str:
    """All that one candidate's author needs, on one screen."""
    parts = ["\n".join(head(verdict))]
    charged = of_charge(verdict, "charged", "MUST")
    if charged:
        parts.append(block(verdict, charged[0]))
    parts += profile_blocks(verdict) if not charged else []
    parts.append("\n".join([*others(verdict), *profile_notes(verdict), *rubric(verdict)]))
    parts.append("\n".join(foot(verdict)))
    return "\n".join(part for part in parts if part)


def of_charge(verdict: Verdict, charge: str, level: str) -> list[InvariantReport]:
    return [r for r in verdict.invariants if r.charge == charge and r.level == level]


def head(verdict: Verdict) -> list[str]:
    score, reason = verdict.score, "" if verdict.verdict in ("conforming", "nonconforming") else f": {verdict.reason}"
    points = f", {score.earned:g} of {score.possible:g} points" if score.possible else ""
    line = f"{verdict.verdict.upper()}{points}: {verdict.candidate.target}{reason}"
    return _wrapped(clean(line), "", "  ") + dialect_lines(verdict.dialect)


def dialect_lines(dialect: DialectReport) -> list[str]:
    """Say how the candidate reads the question, where that is worth a line."""
    default = vars(Dialect())
    other = [f"{axis}={value}" for axis, value in dialect.axes.items() if value != default[axis]]
    for conflict in dialect.conflicts:
        values = " in one run and as ".join(conflict.readings)
        return _wrapped(f"{conflict.axis} reads as {values} in another: either is legal, both is not", "  dialect   ")
    if not other:
        return []
    told = {"fixed": "as told", "declared": "as declared", "inferred": "inferred from its runs; legal"}
    return _wrapped(f"{', '.join(other)} ({told.get(dialect.source, 'unclear')})", "  dialect   ")


def block(verdict: Verdict, report: InvariantReport) -> str:
    """Write one violation: what was expected, what was seen, where, and how to see it again."""
    example, invariant = report.counterexample, CATALOGUE[report.name]
    if example is None:
        return ""
    lines = [f"{report.name} violated {example.place}"]
    lines += _wrapped(clean(example.expected), "  expected  ") + _wrapped(clean(example.observed), "  observed  ")
    if example.picture is not None:
        lines += _named("slots", lanes(example.picture))
    lines += _named("workload", workload_lines(example))
    lines += _wrapped(invariant.sentence, "  promise   ")
    lines += [f"  see       {DOCS}#{invariant.anchor}"]
    lines += _named("repro", [repro(verdict, report.name)])
    if not example.replayed:
        lines += _wrapped("seen once on the wire; it did not come again in a fresh process", "  note      ")
    return "\n".join(lines)


def lanes(picture: Picture) -> list[str]:
    """Draw the slots as lanes and the calls as columns, and mark the offending cell."""
    width = max((len(f"r{r}") for lane in picture.lanes for r in lane if r is not None), default=1)
    room = max(4, (WIDTH - 20) // (width + 1))
    hidden = max(0, len(picture.lanes[0]) - room) if picture.lanes else 0
    lines = [f"   (calls {picture.first + hidden} to {picture.first + len(picture.lanes[0]) - 1})"] if hidden else []
    at = None if picture.call is None else picture.call - picture.first - hidden
    for number, lane in enumerate(picture.lanes):
        cells = [(f"r{r}" if r is not None else ".").ljust(width) for r in lane[hidden:]]
        mark = f"  <- {clean(picture.note)}" if number == picture.slot else ""
        lines.append(f"{number:>2} | {' '.join(cells)}{mark}"[: WIDTH - 12])
    if picture.more_slots:
        lines.append(f"   | ... {picture.more_slots} more slots")
    if picture.slot is None:
        place = (len(picture.lanes[0]) - hidden if at is None else at) if picture.lanes else 0
        lines.append(_pointer(5 + (width + 1) * place, clean(picture.note)))
    return lines


def _pointer(column: int, note: str) -> str:
    """Point at a column, from the side on which there is room for the words."""
    if column + len(note) + 2 <= WIDTH - 12 or len(note) + 1 > column:
        return f"{' ' * column}^ {note}"[: WIDTH - 12]
    return f"{note} ^".rjust(column + 1)


def workload_lines(example: Counterexample) -> list[str]:
    """Say in words what was run."""
    workload = example.session.workloads[example.run]
    slots = "1 slot" if workload.num_slots == 1 else f"{workload.num_slots} slots"
    before = example.run
    lines = [f"{slots}, stop token {workload.stop_token}"]
    if example.session.nested:
        lines[0] += "; one run inside the first call of the other"
    elif before:
        lines[0] += f"; after {before} earlier run{'s' if before > 1 else ''} in the same process"
    if workload.fault:
        kind, call, exception = workload.fault
        lines[0] += f"; the model {_FAULTS[kind].format(exception=exception)} in call {call + 1}"
    for index, row in enumerate(workload.requests[:MOST_REQUESTS]):
        lines.append(_request(index, row))
    if len(workload.requests) > MOST_REQUESTS:
        lines.append(f"... {len(workload.requests) - MOST_REQUESTS} more requests")
    return [clean(line)[: WIDTH - 12] for line in lines]


_FAULTS = {
    "raises": "raises {exception}",
    "short": "answers with a token too few",
    "long": "answers with a token too many",
    "tampers": "alters the rows it was handed, first",
    "keeps": "keeps the rows it was handed, first",
}


def _request(index: int, row: tuple[str, list[int], int, list[int]]) -> str:
    identity, prompt, limit, replies = row
    name = f"r{index}" if identity == f"r{index}" else f"r{index} ({identity!r})"
    return f"{name}: prompt {_short(prompt)}, max_tokens {limit}, replies {_short(replies[: max(limit, 1)])}"


def _short(tokens: list[int]) -> str:
    return str(tokens) if len(tokens) <= 6 else f"[{', '.join(map(str, tokens[:5]))}, ... {len(tokens)}]"


def repro(verdict: Verdict, name: str) -> str:
    """The command that shows a counterexample step by step."""
    target = verdict.candidate.target if verdict.candidate.how != "source" else "FILE"
    command = f"slotspec repro {shlex.quote(clean(target))}"
    example = next(r.counterexample for r in verdict.invariants if r.name == name)
    if verdict.dialect.source != "declared" and verdict.dialect.axes != vars(Dialect()):
        command += f" --dialect {','.join(f'{axis}={value}' for axis, value in verdict.dialect.axes.items())}"
    if example is not None:
        session = example.session
        inline = one_line(session.workloads[0] if len(session.workloads) == 1 else session)
        if len(inline) <= INLINE:
            return f"{command} --workload {shlex.quote(inline)}"
    return f"{command} --workload VERDICT.json --invariant {name}   (grade with --json first)"


def one_line(data: WorkloadData | SessionData) -> str:
    """JSON without what has its usual value."""
    usual = WorkloadData([], 1, 0).otherwise

    def shorter(workload: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in workload.items() if key != "otherwise" or value != usual}

    made = msgspec.to_builtins(data)
    made = {**made, "workloads": list(map(shorter, made["workloads"]))} if "workloads" in made else shorter(made)
    return msgspec.json.encode(made).decode()


def broken(report: ProfileReport, level: str = "MUST") -> list[PromiseReport]:
    """The promises of a profile that are violated."""
    return [p for p in report.invariants if p.status == "violated" and p.level == level]


def profile_blocks(verdict: Verdict) -> list[str]:
    """The first violation of every follow-up question, with the life or the lines that show it."""
    firsts = [promise.example for report in verdict.profiles for promise in broken(report)[:1]]
    return ["\n".join(map(clean, example.text.splitlines())) for example in firsts if example]


def profile_notes(verdict: Verdict) -> list[str]:
    """One line each for what else is to be said of the follow-up questions."""
    lines = []
    for report in verdict.profiles:
        if report.verdict == "skipped":
            lines += _wrapped(clean(f"{report.profile}: {report.reason}"), "  skipped   ")
        elif report.verdict not in ("conforming", "nonconforming"):
            lines += _wrapped(clean(f"{report.profile}: {report.reason}"), f"  {report.verdict:<9} ")
        if len(more := broken(report)[1:]):
            lines += _wrapped(f"{report.profile}: {', '.join(p.name for p in more)}", "  also      ")
        if soft := broken(report, "SHOULD"):
            lines += _wrapped(f"{report.profile}: {', '.join(p.name for p in soft)}", "  SHOULD    ")
        odd = {axis: value for axis, value in report.dialect.items() if value != vars(Dialect())[axis]}
        if odd and odd != {axis: verdict.dialect.axes[axis] for axis in odd}:
            said = ", ".join(f"{axis}={value}" for axis, value in odd.items())
            lines += _wrapped(f"{report.profile}: {said}; legal", "  dialect   ")
    return lines


def others(verdict: Verdict) -> list[str]:
    """One line each for what else was found."""
    lines = []
    for report in of_charge(verdict, "charged", "MUST")[1:]:
        lines += _one_line("also", report)
    consequences = [r.name for r in of_charge(verdict, "consequence", "MUST")]
    if consequences:
        lines += _wrapped(f"{', '.join(consequences)}: only after one of these had gone wrong", "  follows   ")
    for report in [r for r in verdict.invariants if r.level == "SHOULD" and r.status == "violated"]:
        lines += _one_line("SHOULD", report)
    return lines


def _one_line(label: str, report: InvariantReport) -> list[str]:
    example = report.counterexample
    said = f"{report.name} {example.place}: {example.observed}" if example else report.name
    text = clean(said)
    room = WIDTH - 12
    return [f"  {label:<9} {text if len(text) <= room else text[: room - 3] + '...'}"]


def rubric(verdict: Verdict) -> list[str]:
    marks = {"passed": "+", "failed": "-", "not graded": "?"}
    lines = []
    for number, line in enumerate(verdict.rubric):
        why = f": {', '.join(line.charged)}" if line.charged else ": not graded" if line.status == "not graded" else ""
        text = f"  {'rubric' if not number else '':<9} {marks[line.status]} {line.title}{why}"
        lines.append(text if len(text) <= WIDTH else text[: WIDTH - 3] + "...")
    return lines


def foot(verdict: Verdict) -> list[str]:
    """Say how much was tried, and how to do it again."""
    tried = f"{verdict.runs} runs in {verdict.seconds:.1f} s, effort {verdict.effort}, seed {verdict.seed}"
    lines = [f"  {tried}"]
    if not verdict.sandbox.contained:
        lines += _wrapped("a hostile candidate would not be contained here; see docs/sandbox.md", "  WARNING   ")
    return lines


def line(verdict: Verdict) -> str:
    """One line, for a list of many."""
    names = [r.name for r in of_charge(verdict, "charged", "MUST")]
    names += [f"{report.profile}: {promise.name}" for report in verdict.profiles for promise in broken(report)]
    charged = ", ".join(names)
    points = f"{verdict.score.earned:g}/{verdict.score.possible:g}"
    said = charged or (verdict.reason if verdict.verdict != "conforming" else dialect_note(verdict))
    return clean(f"{verdict.verdict:<13} {points:>5}  {verdict.candidate.target}  {said}".rstrip())


def dialect_note(verdict: Verdict) -> str:
    default = vars(Dialect())
    return ",".join(f"{axis}={value}" for axis, value in verdict.dialect.axes.items() if value != default[axis])


def _named(name: str, lines: list[str]) -> list[str]:
    return [f"  {name if not number else '':<9} {text}" for number, text in enumerate(lines)]


def _wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    indent = rest if rest is not None else " " * len(first)
    options = {"break_long_words": True, "break_on_hyphens": False}
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=indent, **options) or [first]  # type: ignore[arg-type]
