"""The reference: the whole of dynamic batching with slot refilling, in one loop."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from reference.vocabulary import Dialect, MockModel, Request, check_arguments


@dataclass
class Slot:
    """A request in progress and what the model has generated for it."""

    request: Request
    generated: list[int] = field(default_factory=list)

    def prefix(self) -> list[int]:
        return [*self.request.prompt, *self.generated]


def generate(
    model: MockModel,
    requests: list[Request],
    num_slots: int,
    stop_token: int,
    *,
    dialect: Dialect = Dialect(),
) -> dict[str, list[int]]:
    """Generate the tokens of every request, at most `num_slots` at a time.

    Before each call of the model, every free slot takes the next waiting request, first in, first
    out. A request leaves its slot with its stop token or at its limit. Returns the generated tokens
    by `request_id`. An exception of the model reaches the caller as it is.

    Raises ValueError for bad arguments (`check_arguments`), before any call, and for a reply that
    does not have one token a row.
    """
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    # A request with nothing to generate is done already: it holds neither a slot nor the queue.
    waiting = deque(request for request in requests if dialect.limit(request) > 0)
    slots: list[Slot | None] = [None] * num_slots
    while True:
        for index, slot in enumerate(slots):
            if slot is None and waiting:
                slots[index] = Slot(waiting.popleft())
        occupied = [index for index, slot in enumerate(slots) if slot is not None]
        if not occupied:
            return results
        sent = list(range(num_slots)) if dialect.batch == "padded" else occupied
        batch = [slot.prefix() if (slot := slots[index]) else [] for index in sent]
        tokens = model.next_tokens(batch)
        if len(tokens) != len(sent):
            raise ValueError(f"the model returned {len(tokens)} tokens for {len(sent)} rows")
        for index, token in zip(sent, tokens, strict=True):
            slot = slots[index]
            if slot is None:
                continue
            slot.generated.append(token)
            if token == stop_token or len(slot.generated) == dialect.limit(slot.request):
                results[slot.request.request_id] = dialect.output(slot.generated, stop_token)
                slots[index] = None
