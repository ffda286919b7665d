"""Why a request that should have had a row had none: each absence gets one cause, which one invariant owns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from conformance.attribution import Attribution
from conformance.history import Returned

Cause = Literal["held", "prompt", "pad", "length", "jumped", "zero", "refill", "ends"]


@dataclass(frozen=True)
class Absence:
    """`request` has no row in call `call` (the number of calls: where the run returned instead of calling)."""

    request: int
    cause: Cause
    call: int


def absences(found: Attribution) -> list[Absence]:
    """List the absences of the diverging call, or of the call that a run which returned too early did not make."""
    if found.divergence is not None:
        return _of_call(found)
    if found.failed is None and isinstance(found.run.outcome, Returned):
        return _of_return(found)
    return []


def caused(found: Attribution, cause: Cause) -> list[Absence]:
    return [absence for absence in absences(found) if absence.cause == cause]


def _of_call(found: Attribution) -> list[Absence]:
    split = found.divergence
    assert split is not None
    if found.run.calls[split.call].malformed:
        return []
    missing = [r for r in split.running if r not in split.seen and r not in split.claimed]
    # A row that is nobody's may be the bungled row of any of the missing: as many of them are excused.
    excused = sum(s.request is None for s in split.strangers)
    gone = [Absence(r, _running_cause(found, r), split.call) for r in missing[excused:]]
    outside = [r for r in split.entering if r not in split.seen and r not in split.claimed]
    seats = len(split.required) - len(missing) - (split.size - min(excused, len(missing)))
    return gone + _entering_causes(found, outside, seats)


def _running_cause(found: Attribution, request: int) -> Cause:
    assert found.divergence is not None
    later = found.run.calls[found.divergence.call + 1 :]
    # Only a run that came to its end shows that the request was taken for finished, and not only passed over.
    if not isinstance(found.run.outcome, Returned) or any(found.ledger.due[request] in call.rows for call in later):
        return "held"
    return _early_cause(found, request)


def _early_cause(found: Attribution, request: int) -> Cause:
    if prompt_explains(found, request):
        return "prompt"
    return "pad" if pad_explains(found) else "length"


def _entering_causes(found: Attribution, outside: list[int], seats: int) -> list[Absence]:
    """`seats` counts the slots that are idle beside requests that could enter."""
    split, out = found.divergence, []
    assert split is not None
    entered = [r for r in split.seen if r not in split.running]
    left = []
    for request in outside:
        passed = any(request < other for other in entered)
        if (passed or seats > 0) and _never_sent(found, request) and prompt_explains(found, request):
            out.append(Absence(request, "prompt", split.call))
            seats -= not passed
        elif passed:
            out.append(Absence(request, "jumped", split.call))
        else:
            left.append(request)
    if left and seats > 0:
        last = max(found.ledger.admitted, default=-1)
        idle = [r for r in range(last + 1, max(left)) if not found.limits[r]]
        cause: Cause = "zero" if len(idle) >= min(seats, len(left)) else "refill"
        out += [Absence(request, cause, split.call) for request in left[-seats:]]
    return out


def _never_sent(found: Attribution, request: int) -> bool:
    if found.divergence is None or not isinstance(found.run.outcome, Returned):
        return False
    prompt = found.run.workload.asks[request].prompt
    return not any(prompt in call.rows for call in found.run.calls[found.divergence.call :])


def _of_return(found: Attribution) -> list[Absence]:
    end, unfinished = len(found.run.calls), found.unfinished
    if unfinished and all(prompt_explains(found, request) for request in unfinished):
        return [Absence(request, "prompt", end) for request in unfinished]
    if unfinished and pad_explains(found):
        return [Absence(request, "pad", end) for request in unfinished]
    if len(unfinished) == 1 and found.ledger.running and not _finished_last(found):
        return [Absence(unfinished[0], _early_cause(found, unfinished[0]), end)]
    return [Absence(request, "ends", end) for request in unfinished]


def _finished_last(found: Attribution) -> bool:
    """Whether some request finished in the last call, so that the whole run may have been taken for finished."""
    return bool(found.owners) and any(r in found.ledger.finished for r in found.owners[-1] if r is not None)


def prompt_explains(found: Attribution, request: int) -> bool:
    """Whether an early end of `request` fits a prompt taken for output: it holds the stop token, or fills the limit."""
    ask, generated = found.run.workload.asks[request], found.ledger.generated[request]
    if found.run.workload.stop_token in ask.prompt:
        return True
    if not generated and not ask.prompt:
        return True
    return found.dialect.max_tokens == "new" and bool(ask.prompt) and len(ask.prompt) + len(generated) >= ask.max_tokens


def pad_explains(found: Attribution) -> bool:
    """Whether a pad row of the last clean call was answered with the stop token."""
    if found.dialect.batch != "padded" or not found.owners:
        return False
    replies = found.run.calls[len(found.owners) - 1].replies or ()
    stop = found.run.workload.stop_token
    return any(owner is None and reply == stop for owner, reply in zip(found.owners[-1], replies, strict=False))
