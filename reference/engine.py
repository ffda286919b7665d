"""The follow-up questions, answered: requests that arrive while others run, streaming, and cancelling.

It is `generate` turned inside out: the caller owns the loop, and each `step` makes one model call. In
between, and even from inside that call, requests are added and aborted. A submission is told from a
later one with the same id by its identity, never by its name: so a late token has no wrong home.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from reference.vocabulary import Dialect, FinishReason, MockModel, Request, check_arguments


class StepOutput(NamedTuple):
    """What a step says of one request: its next token, its ending, or both.

    The ending is the output with a `finish_reason`. It carries the last token, unless there is none to
    give: a stop token that the dialect excludes, an abort, a request with nothing to generate.
    """

    request_id: str
    token: int | None
    finish_reason: FinishReason | None


@dataclass(eq=False)
class Sequence:
    """One submission of a request; `finish_reason` says that nothing more is generated for it, and why."""

    request_id: str
    prompt: list[int]
    limit: int
    generated: list[int] = field(default_factory=list)
    finish_reason: FinishReason | None = None

    def prefix(self) -> list[int]:
        return [*self.prompt, *self.generated]


class Engine:
    """Continuous batching for requests that come and go, at most `num_slots` of them at a time.

    Waiting requests enter free slots first in, first out, before each model call. Raises ValueError
    for fewer than one slot.
    """

    def __init__(self, model: MockModel, num_slots: int, stop_token: int, *, dialect: Dialect = Dialect()) -> None:
        check_arguments([], num_slots)
        self._model, self._stop_token, self._dialect = model, stop_token, dialect
        self._waiting: OrderedDict[str, Sequence] = OrderedDict()
        self._slots: list[Sequence | None] = [None] * num_slots
        self._live: dict[str, Sequence] = {}
        self._ended: list[Sequence] = []  # the next step has to deliver their endings

    def add_request(self, request: Request) -> None:
        """Queue a request; the next call has it if a slot is free. It is copied, so it stays the caller's.

        Raises ValueError, and changes nothing, for a negative `max_tokens` and for the id of a live
        request: one that was neither aborted nor has had its ending delivered.
        """
        check_arguments([request], len(self._slots))
        if request.request_id in self._live:
            raise ValueError(f"a request with the id {request.request_id!r} has not finished")
        sequence = Sequence(request.request_id, list(request.prompt), self._dialect.limit(request))
        self._live[sequence.request_id] = sequence
        if sequence.limit:
            self._waiting[sequence.request_id] = sequence
        else:
            # Nothing to generate: it holds neither a slot nor the queue.
            sequence.finish_reason = "length"
            self._ended.append(sequence)

    def abort_request(self, request_id: str) -> None:
        """Cancel a live request, waiting or running; its slot and its id are free at once.

        The next step delivers its ending. An id that is unknown, finished or aborted has no effect.
        """
        sequence = self._live.pop(request_id, None)
        if sequence is None:
            return
        self._waiting.pop(request_id, None)
        if sequence.finish_reason is None:
            self._ended.append(sequence)
        sequence.finish_reason = "abort"

    def has_unfinished_requests(self) -> bool:
        """Whether the ending of some request has still to be delivered."""
        return bool(self._live or self._ended)

    def step(self) -> list[StepOutput]:
        """Make one model call for all running requests, if there are any, and return what is new.

        Every running request gets one token; endings of requests that ended since the last step come
        first. If the call raises, or replies with a wrong number of tokens (ValueError), nothing
        has changed and no ending is lost: step again, or abort the offender and step.
        """
        self._admit()
        running = [sequence for sequence in self._slots if sequence is not None]
        if not running:
            return self._deliver()
        sent = list(self._slots) if self._dialect.batch == "padded" else running
        tokens = self._model.next_tokens([sequence.prefix() if sequence else [] for sequence in sent])
        if len(tokens) != len(sent):
            raise ValueError(f"the model returned {len(tokens)} tokens for {len(sent)} rows")
        outputs = self._deliver()
        for sequence, token in zip(sent, tokens, strict=True):
            # The caller may have aborted a request while the model was at it: its token is dropped.
            if sequence is not None and sequence.finish_reason is None:
                outputs.append(self._take(sequence, token))
        return outputs

    def _admit(self) -> None:
        """Free the slots of the finished, and fill free ones from the head of the queue."""
        for index, sequence in enumerate(self._slots):
            if sequence is not None and sequence.finish_reason is None:
                continue
            self._slots[index] = self._waiting.popitem(last=False)[1] if self._waiting else None

    def _take(self, sequence: Sequence, token: int) -> StepOutput:
        """Give a running request its token, with which it may finish."""
        sequence.generated.append(token)
        stopped = token == self._stop_token
        if stopped or len(sequence.generated) == sequence.limit:
            sequence.finish_reason = "stop" if stopped else "length"
            del self._live[sequence.request_id]
        shown = None if stopped and self._dialect.stop_token == "excluded" else token
        return StepOutput(sequence.request_id, shown, sequence.finish_reason)

    def _deliver(self) -> list[StepOutput]:
        """Hand over the endings that wait for it; a finished id is free from here on."""
        ended, self._ended = self._ended, []
        for sequence in ended:
            if self._live.get(sequence.request_id) is sequence:
                del self._live[sequence.request_id]
        return [StepOutput(sequence.request_id, None, sequence.finish_reason) for sequence in ended]
