"""zero/untouched: a request with nothing to generate is none of the model's business."""

from __future__ import annotations

from dataclasses import replace

from conformance.absence import caused
from conformance.attribution import Attribution
from conformance.history import Returned
from conformance.invariant import Invariant, Mutant, Violation
from conformance.workloads import Workload


def check(found: Attribution) -> Violation | None:
    split = found.divergence
    for stranger in split.strangers if split else ():
        if stranger.kind == "nothing to do":
            assert split is not None
            assert stranger.request is not None
            name = found.name(stranger.request)
            return Violation(split.call, f"no row of {name}, which may have no token", "a row of it", stranger.request)
    idle = caused(found, "zero")
    if idle and split:
        waiting = found.names([absence.request for absence in idle])
        return Violation(
            split.call,
            f"{len(split.required)} sequences: a request with nothing to generate holds no slot, and {waiting} waits",
            f"{split.size}",
            idle[0].request,
        )
    return _value(found)


def _value(found: Attribution) -> Violation | None:
    outcome = found.run.outcome
    if not found.clean or not isinstance(outcome, Returned):
        return None
    empty = {a.request_id: i for i, a in enumerate(found.run.workload.asks) if not found.limits[i]}
    for key, tokens in outcome.pairs:
        if key in empty and tokens:
            return Violation(len(found.run.calls), f"[] for {key!r}", f"{list(tokens)}", empty[key])
    return None


def control(workload: Workload, violation: Violation) -> Workload:
    """The workload without the requests that have nothing to generate, in whichever dialect."""
    busy = tuple(ask for ask in workload.asks if ask.max_tokens > 0)
    return replace(workload, asks=busy)


def witness(found: Attribution) -> bool:
    """A request with nothing to generate stands before one that waits."""
    nothing = [r for r, limit in enumerate(found.limits) if not limit]
    return bool(nothing) and bool(found.ledger.admitted) and nothing[0] < max(found.ledger.admitted)


INVARIANT = Invariant(
    level="MUST",
    sentence="A request with nothing to generate returns `[]`, is never sent, and holds neither a slot nor the queue: "
    "the calls are those of the workload without it.",
    why="`max_tokens` = 0 is how clients score a prompt or warm a cache; it is the corner where the first token is "
    "taken before the limit is looked at.",
    seen_in=("huggingface/transformers#28579", "sgl-project/sglang#772", "ohdearquant/lattice#612"),
    does_not_say="That such a request is an error, nor when its result is known.",
    check=check,
    witness=witness,
    control=control,
    mutants=(
        Mutant("deque(request for request in requests if dialect.limit(request) > 0)", "deque(requests)"),
        Mutant(
            "request.request_id: [] for request",
            "request.request_id: [stop_token] if request.max_tokens == 0 else [] for request",
        ),
    ),
)
