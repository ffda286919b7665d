"""The command `slotspec repro`: one counterexample, call by call."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from conformance.attribution import Attribution, attribute
from conformance.catalogue import Judgement, judge
from conformance.grading import profile_replay
from conformance.grading.profile_replay import examples
from conformance.grading.render_text import clean
from conformance.grading.repro_read import read_session
from conformance.grading.schema import ProfileExample, ProfileReport, SchemaError, Verdict
from conformance.history import Call, Ongoing, Raised, Returned, Run, Unended
from conformance.workloads import Session, Tokens
from reference.vocabulary import Dialect

MOST_CALLS, MOST_ROWS, MOST_TOKENS = 40, 16, 10


@click.command(name="repro")
@click.argument("target")
@click.option("--workload", "given", required=True, metavar="FILE|JSON", help="The workload, or a verdict that has it.")
@click.option("--invariant", metavar="NAME", help="Which counterexample of a verdict.  [default: the first charged]")
@click.option("--dialect", "chosen", metavar="AXIS=VALUE,...", help="Hold it to this, not to what it declares.")
def repro(target: str, given: str, invariant: str | None, chosen: str | None) -> None:
    """Run TARGET on one workload, in the sandbox, and show every call: who holds which slot, and what was due.

    Exit status: 0 when nothing is violated, 1 when something is, 2 usage error.
    """
    from conformance.grading.grade_command import interruptible
    from conformance.grading.isolated import IsolatedImplementation
    from conformance.grading.sandbox import SandboxError
    from conformance.targets import TargetError, parse_dialect

    try:
        session, verdict = read_session(given, invariant)
        axes = Dialect.of(verdict.dialect.axes) if verdict else None
        dialect = parse_dialect(chosen) if chosen else axes
    except OSError as error:
        raise click.UsageError(f"--workload {given[:100]}: {error.strerror}.") from None
    except SchemaError as error:
        raise click.UsageError(f"--workload: {error}.") from None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--dialect") from None
    found = profile_example(verdict, invariant) if verdict else None
    if verdict and found:
        sys.exit(_profile(target, verdict, *found))
    if session is None:
        raise click.UsageError(f"--workload: it has no counterexample{f' of {invariant}' if invariant else ''}.")
    with interruptible():
        try:
            with IsolatedImplementation(target, dialect) as candidate:
                runs = candidate.run(session)
                held_to = dialect or candidate.dialect
                last = Session((runs[-1].workload,))
                alone = judge(candidate.run_fresh(last)[0], held_to) if len(runs) > 1 else None
        except (TargetError, SandboxError) as error:
            raise click.UsageError(str(error)) from None
    judgements = [judge(run, held_to) for run in runs]
    for line in told(session, judgements):
        click.echo(clean(line))
    if alone and judgements[-1].violations and not alone.violations:
        click.echo("run/independent violated: alone, in a process in which nothing has run, this run is right")
    sys.exit(1 if any(judgement.violations for judgement in judgements) else 0)


def profile_example(verdict: Verdict, invariant: str | None) -> tuple[ProfileReport, str, ProfileExample] | None:
    """The counterexample of a follow-up question that was asked for."""
    if invariant is None and any(report.counterexample for report in verdict.invariants):
        return None
    return next((found for found in examples(verdict) if invariant in (None, found[1])), None)


def _profile(target: str, verdict: Verdict, report: ProfileReport, name: str, example: ProfileExample) -> int:
    """Play it again and show it; the exit status."""
    from conformance.grading.grade_command import interruptible
    from conformance.grading.isolated import IsolatedImplementation
    from conformance.grading.sandbox import SandboxError
    from conformance.targets import TargetError

    with interruptible():
        try:
            with IsolatedImplementation(target, Dialect.of(report.dialect)) as candidate:
                violations, _, life = profile_replay.played(candidate, report, example)
        except (TargetError, SandboxError, SchemaError) as error:
            raise click.UsageError(str(error)) from None
    click.echo("\n".join(map(clean, life.splitlines())))
    for violated in sorted(violations):
        click.echo(f"{violated} violated")
    if not violations:
        click.echo("nothing is violated")
    return 1 if violations else 0


def told(session: Session, judgements: list[Judgement]) -> Iterator[str]:
    """Tell every run of a session: those before the first wrong one in a line each, that one in full."""
    wrong = next((i for i, judgement in enumerate(judgements) if judgement.violations), len(judgements) - 1)
    for number, judgement in enumerate(judgements[: wrong + 1]):
        name = f"run {number + 1} of {len(session.workloads)}"
        if number < wrong:
            yield f"{name}: {len(judgement.attribution.run.calls)} calls, as it should be"
            continue
        yield f"{name}{', one inside the first call of the other' if session.nested else ''}"
        yield from steps(judgement)


def steps(judgement: Judgement) -> Iterator[str]:
    """Tell one run: the requests, every call with its slots as lanes, the end, what is violated."""
    found = judgement.attribution
    workload = found.run.workload
    yield f"  {workload.num_slots} slots, stop token {workload.stop_token}, {found.dialect}"
    for index, ask in enumerate(workload.asks[:MOST_ROWS]):
        limit = f"may generate {found.limits[index]}"
        yield f"  r{index} {ask.request_id!r}: prompt {short(ask.prompt)}, max_tokens {ask.max_tokens}, {limit}"
    last = found.divergence.call if found.divergence else len(found.run.calls) - 1
    first = max(0, last + 1 - MOST_CALLS)
    if first:
        yield f"  ... {first} calls, as they should be"
    seat: dict[int, int] = {}
    for number, call in enumerate(found.run.calls[: last + 1]):
        lines = list(_call(found, number, call, seat))
        if number >= first:
            yield from lines
    if len(found.run.calls) > last + 1:
        yield f"  ... {len(found.run.calls) - last - 1} more calls, after what went wrong"
    yield f"  {_end(found.run)}"
    yield from _violated(judgement)


def _call(found: Attribution, number: int, call: Call, seat: dict[int, int]) -> Iterator[str]:
    """Tell one call. `seat` has the slot of every request in progress, and is brought up to date."""
    before = attribute(Run(found.run.workload, found.run.calls[:number], Ongoing()), found.dialect).ledger
    due = [*before.running, *before.due_to_enter(found.run.workload.num_slots)]
    if call.malformed:
        yield f"  call {number + 1}: {call.malformed}"
        return
    owners = found.owners[number] if number < len(found.owners) else _owners(due, before.due, call)
    for request in [r for r in seat if r not in owners]:
        del seat[request]
    lines: list[tuple[int, str]] = []
    for position, (row, owner) in enumerate(zip(call.rows, owners, strict=True)):
        reply = _reply(call, position)
        if owner is None:
            lines.append((10**9, f"      ?  row {short(row)} of no request{reply}"))
            continue
        seat.setdefault(owner, next(place for place in range(10**9) if place not in seat.values()))
        lines.append((seat[owner], f"slot {seat[owner]:>2}  r{owner} {short(row)}{reply}"))
    yield f"  call {number + 1}"
    yield from (f"    {text}" for _, text in sorted(lines)[:MOST_ROWS])
    if number >= len(found.owners):
        wanted = "; ".join(f"r{r} {short(before.due[r])}" for r in due[:MOST_ROWS]) or "no call"
        yield f"    due was  {wanted}"
    waiting = [f"r{r}" for r in before.waiting if r not in owners]
    if waiting:
        yield f"    waiting  {' '.join(waiting[:MOST_ROWS])}"


def _owners(due: list[int], prefixes: list[Tokens], call: Call) -> tuple[int | None, ...]:
    """Match the rows of the call that went wrong with what was due."""
    left = list(due)
    owners: list[int | None] = []
    for row in call.rows:
        owner = next((request for request in left if prefixes[request] == row), None)
        owners.append(owner)
        if owner is not None:
            left.remove(owner)
    return tuple(owners)


def _reply(call: Call, position: int) -> str:
    if call.replies is None:
        return " -> the model raises"
    return f" -> {call.replies[position]}" if position < len(call.replies) else " -> no reply"


def _end(run: Run) -> str:
    outcome = run.outcome
    if isinstance(outcome, Returned):
        pairs = ", ".join(f"{key!r}: {short(tokens)}" for key, tokens in outcome.pairs[:MOST_ROWS])
        return f"it returned {outcome.malformed}" if outcome.malformed else f"returned {{{pairs}}}"
    if isinstance(outcome, Raised):
        return f"raised {outcome.kind}: {outcome.message}"
    return outcome.why if isinstance(outcome, Unended) else "it did not end"


def _violated(judgement: Judgement) -> Iterator[str]:
    for name, violation in sorted(judgement.violations.items(), key=lambda item: item[1].call):
        at_end = violation.call >= len(judgement.attribution.run.calls)
        yield f"{name} violated {'at the end' if at_end else f'at call {violation.call + 1}'}"
        yield f"  expected  {violation.expected}"
        yield f"  observed  {violation.observed}"
    if not judgement.violations:
        yield "nothing is violated"


def short(tokens: Tokens) -> str:
    head = ", ".join(map(str, tokens[:MOST_TOKENS]))
    return f"[{head}]" if len(tokens) <= MOST_TOKENS else f"[{head}, ... {len(tokens)} tokens]"
