"""What is wrong with the outputs of a step: what they lack, and what they should not have."""

from __future__ import annotations

from conformance.engine.calls import circumstance
from conformance.engine.causes import Cause, Fault
from conformance.engine.events import Output, Return
from conformance.engine.ledger import Entry, Ledger, Settings

REASONS = (None, "stop", "length", "abort")


class Owed:
    """An output that the step should give. It must, or it may, when an ending came up inside its call."""

    def __init__(self, entry: Entry, output: Output, must: bool) -> None:
        self.entry, self.output, self.must = entry, output, must


def owed(ledger: Ledger, settings: Settings) -> list[Owed]:
    """What the step under way owes, in the order of the submissions."""
    excluded = settings.dialect.stop_token == "excluded"
    out = [Owed(e, Output(e.request_id, None, e.reason), e.due_now) for e in ledger.pending.values()]
    for entry in ledger.answered:
        reason = entry.full(settings.stop_token)
        shown = None if reason == "stop" and excluded else entry.token
        out.append(Owed(entry, Output(entry.request_id, shown, reason), True))
    if ledger.pending:
        out.sort(key=lambda item: item.entry.number)
    return out


def judged(ledger: Ledger, settings: Settings, event: Return) -> list[Fault]:
    """The faults of a step's outputs; none where they are what it owes, in any order of the ids."""
    if event.malformed:
        return [Fault("malformed outputs", "a list of step outputs", event.malformed)]
    debts, extra = owed(ledger, settings), []
    if _paid(debts, event.outputs):
        return []
    matched: list[Output] = []
    for output in event.outputs:
        found = next((debt for debt in debts if debt.output == output), None)
        if found is None:
            extra.append(output)
        else:
            debts.remove(found)
            matched.append(output)
    faults = _unmatched(ledger, debts, extra, matched)
    return faults or _order(ledger, settings, event)


def _paid(debts: list[Owed], outputs: tuple[Output, ...]) -> bool:
    """The quick look: each id owes one output, which it must give, and has given."""
    given = {output.request_id: output for output in outputs}
    if not len(debts) == len(outputs) == len(given):
        return False
    return all(debt.must and given.get(debt.entry.request_id) == debt.output for debt in debts)


def _unmatched(ledger: Ledger, debts: list[Owed], extra: list[Output], matched: list[Output]) -> list[Fault]:
    faults: list[Fault] = []
    for output in extra:
        debt = next((debt for debt in debts if debt.entry.request_id == output.request_id), None)
        if debt is None:
            faults += surplus(ledger, output, matched)
        else:
            debts.remove(debt)
            faults += altered(ledger, debt, output)
    faults += [absent(ledger, debt) for debt in debts if debt.must]
    return faults


def _order(ledger: Ledger, settings: Settings, event: Return) -> list[Fault]:
    """With one id, an old submission's ending comes before anything of a new one."""
    queues: dict[str, list[Output]] = {}
    for debt in owed(ledger, settings):
        queues.setdefault(debt.output.request_id, []).append(debt.output)
    for output in event.outputs:
        first = queues[output.request_id].pop(0)
        if first != output:
            wanted = f"{_shown(first)} of the old {output.request_id!r} before anything of the new one"
            return [Fault("ending out of order", wanted, f"{_shown(output)} first", output.request_id)]
    return []


def altered(ledger: Ledger, debt: Owed, got: Output) -> list[Fault]:
    """The faults of an output that is not what it should be."""
    entry, wanted = debt.entry, debt.output
    beside = circumstance(ledger, entry)
    expected, observed = f"{_shown(wanted)} of {got.request_id!r}", _shown(got)
    if entry.reason == "abort" and got.token is not None:
        return [
            Fault("token after abort", f"no token of {got.request_id!r}, which was aborted", observed, got.request_id)
        ]
    if got.token != wanted.token:
        if got.token is None:
            return [Fault(beside or "token missing", expected, observed, got.request_id)]
        return [Fault(beside or "wrong token", expected, observed, got.request_id)]
    if wanted.finish_reason is None:
        cause: Cause = "lost beside an abort" if got.finish_reason == "abort" and ledger.aborted else "finish early"
        if got.finish_reason == "abort" and entry.early:
            cause = "lost to an early abort"
        return [Fault(cause, expected, observed, got.request_id)]
    if got.finish_reason is None:
        return [Fault("finish late", expected, observed, got.request_id)]
    return [Fault("finish misnamed", expected, observed, got.request_id)]


def surplus(ledger: Ledger, got: Output, matched: list[Output]) -> list[Fault]:
    """The faults of an output that is owed to nobody."""
    name, observed = got.request_id, f"{_shown(got)} of {got.request_id!r}"
    live = ledger.live.get(name)
    if got.token is not None and any(entry.request_id == name for entry in ledger.dropped):
        faults = [Fault("token after abort", f"no token of {name!r}, which was aborted meanwhile", observed, name)]
        if live is not None and live not in ledger.flight:
            faults.append(Fault("token to a newcomer", f"no token of the new {name!r} yet", observed, name))
        return faults
    if got in matched or (live is not None and any(other.request_id == name for other in matched)):
        cause: Cause = "ending twice" if got.token is None else "token twice"
        return [Fault(cause, f"one output of {name!r}", f"also {observed}", name)]
    if live is None:
        return [_of_the_past(ledger, got, observed)]
    if got.finish_reason is not None and got.token is None:
        return [Fault(_ended_early(ledger, live, got), f"no ending of {name!r} yet", observed, name)]
    return [Fault("output of nobody", f"no output of {name!r}, which had no row", observed, name)]


def _of_the_past(ledger: Ledger, got: Output, observed: str) -> Fault:
    """The fault of an output whose id nobody has now."""
    name, past = got.request_id, ledger.past(got.request_id)
    if past is None or (got.token is None and got.finish_reason is None):
        return Fault("output of nobody", f"no output of {name!r}, which had no row", observed, name)
    if got.token is None:
        return Fault("ending twice", f"no ending of {name!r}, which had one", observed, name)
    if past.reason == "abort":
        return Fault("token after abort", f"no token of {name!r}, which was aborted", observed, name)
    return Fault("finish late", f"no token of {name!r}, which finished", observed, name)


def _ended_early(ledger: Ledger, live: Entry, got: Output) -> Cause:
    if live.early and got.finish_reason == "abort":
        return "lost to an early abort"
    if live.again:
        return "lost as a newcomer"
    return "lost beside an abort" if ledger.aborted else "finish early"


def absent(ledger: Ledger, debt: Owed) -> Fault:
    """The fault of an output that did not come."""
    entry, wanted = debt.entry, debt.output
    expected, name = f"{_shown(wanted)} of {wanted.request_id!r}", wanted.request_id
    if wanted.token is not None or entry.status == "running":
        return Fault(circumstance(ledger, entry) or "token missing", expected, "nothing of it", name)
    if entry.kept:
        expected += ", which a step that failed had to deliver"
        return Fault("ending lost in a failure", expected, "nothing of it", name)
    return Fault("ending missing", expected, "nothing of it", name)


def _shown(output: Output) -> str:
    token = "no token" if output.token is None else f"token {output.token}"
    return token if output.finish_reason is None else f"{token}, ending as {output.finish_reason!r}"
