"""The reference with a key/value cache: what a slot keeps between calls, and who empties it.

The model owns one cache line a slot, and sees nothing but what is in it. So a prefix is sent once,
token by token as it grows, and a line that is not emptied answers the next request with what the
last one left behind.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from reference.vocabulary import Dialect, Request, check_arguments


class CachedModel(Protocol):
    """The language model with one cache line a slot; lines start empty, and last as long as the model does.

    `forward` takes (slot, new tokens) pairs, appends the new tokens to the slot's line, and answers
    each pair with the token that follows the whole line. One that raises appends nothing. `reset`
    empties a line.
    """

    def forward(self, batch: list[tuple[int, list[int]]]) -> list[int]: ...

    def reset(self, slot: int) -> None: ...


@dataclass
class Slot:
    """A request in progress, what the model has generated for it, and what its line still lacks of that."""

    request: Request
    unwritten: list[int]
    generated: list[int] = field(default_factory=list)


def generate_cached(
    model: CachedModel,
    requests: list[Request],
    num_slots: int,
    stop_token: int,
    *,
    dialect: Dialect = Dialect(),
) -> dict[str, list[int]]:
    """Generate the tokens of every request, at most `num_slots` at a time, each prefix written once.

    A newcomer's whole prompt goes into the same call as the others' last tokens. A slot's line is
    emptied as soon as its request finishes, and at a failure, so that none is left holding anything
    at the return or the raise. An implementation may empty it later, before the next request
    enters, and may write a prompt in several calls, of which only the last one's reply counts.

    The dialect's axes are `max_tokens` and `stop_token`. Raises ValueError for bad arguments, before
    any call, and for a reply that does not have one token a row.
    """
    check_arguments(requests, num_slots)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    waiting = deque(request for request in requests if dialect.limit(request) > 0)
    slots: list[Slot | None] = [None] * num_slots
    try:
        while True:
            for index, slot in enumerate(slots):
                if slot is None and waiting:
                    slots[index] = Slot(waiting[0], list(waiting.popleft().prompt))
            occupied = [(index, slot) for index, slot in enumerate(slots) if slot is not None]
            if not occupied:
                return results
            batch = [(index, slot.unwritten) for index, slot in occupied]
            tokens = model.forward(batch)
            if len(tokens) != len(occupied):
                raise ValueError(f"the model returned {len(tokens)} tokens for {len(occupied)} rows")
            for (index, slot), token in zip(occupied, tokens, strict=True):
                slot.generated.append(token)
                # A new list: the one that was handed over is the model's.
                slot.unwritten = [token]
                if token == stop_token or len(slot.generated) == dialect.limit(slot.request):
                    results[slot.request.request_id] = dialect.output(slot.generated, stop_token)
                    slots[index] = None
                    model.reset(index)
    finally:
        for index, slot in enumerate(slots):
            if slot is not None:
                model.reset(index)
