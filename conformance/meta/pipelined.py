"""An engine that decodes one step ahead of what it tells, with prefill calls: right, but by weaker promises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from reference.vocabulary import check_arguments
from variants.engines.exact import StepOutput

ENGINE = "Pipelined"
PACKAGES = ()
REFUSES = {"nothing": "it takes everything"}
POLICY = {
    "arrival/next-call": ("a request waits at most 2 steps beside a free slot", "a slot is freed when its end is told"),
    "arrival/one-call": ("a step makes at most 2 calls", "prefill is a call of its own"),
    "stream/finish": ("at most 1 rows after the end, whose replies reach nobody", "it decodes ahead"),
    "stream/immediate": ("a token is emitted at most 1 steps after its step", "it decodes ahead"),
    "abort/frees-slot": ("at most 1 rows after an abort, whose replies reach nobody", "the row is under way"),
}


@dataclass(eq=False)
class Sequence:
    request_id: str
    tokens: list[int]
    left: int
    ready: list[int] = field(default_factory=list)
    over: str | None = None


class Engine:
    """Each step tells what the call of the step before has generated; with `forgets`, an ending told is forgotten."""

    forgets = False

    def __init__(self, model: Any, num_slots: int, stop_token: int) -> None:
        check_arguments([], num_slots)
        self.model, self.num_slots, self.stop_token = model, num_slots, stop_token
        self.live: dict[str, Sequence] = {}
        self.waiting: list[Sequence] = []
        self.running: list[Sequence] = []
        self.ended: list[Sequence] = []

    def add_request(self, request: Any) -> None:
        check_arguments([request], 1)
        if request.request_id in self.live:
            raise ValueError(f"{request.request_id!r} is live")
        new = Sequence(request.request_id, list(request.prompt), request.max_tokens)
        self.live[new.request_id] = new
        if new.left:
            self.waiting.append(new)
        else:
            new.over = "length"
            self.ended.append(new)

    def abort_request(self, request_id: str) -> None:
        gone = self.live.pop(request_id, None)
        if gone is not None:
            gone.over = "abort"
            self.waiting = [other for other in self.waiting if other is not gone]
            self.ended = [other for other in self.ended if other is not gone] + [gone]

    def has_unfinished_requests(self) -> bool:
        return bool(self.live or self.ended)

    def step(self) -> list[StepOutput]:
        pairs = [pair for sequences in self.batches() for pair in self.call(sequences)]
        told = [StepOutput(one.request_id, None, one.over) for one in self.ended]  # type: ignore[arg-type]
        for one in self.ended:
            if self.live.get(one.request_id) is one:
                del self.live[one.request_id]
        self.ended = []
        told += [self.tell(one) for one in self.running if one.over != "abort" and one.ready]
        for one, token in pairs:
            if one.over != "abort":
                one.ready.append(token)
        self.running = [one for one in self.running if one.over is None]
        return told

    def batches(self) -> list[list[Sequence]]:
        free = self.num_slots - len(self.running)
        entering, self.waiting = self.waiting[:free], self.waiting[free:]
        old = [one for one in self.running if one.over is None]
        self.running = old + entering
        return [batch for batch in (old, entering) if batch]

    def call(self, batch: list[Sequence]) -> list[tuple[Sequence, int]]:
        rows = [[*one.tokens, *one.ready] for one in batch]
        return list(zip(batch, self.model.next_tokens(rows), strict=True))

    def tell(self, one: Sequence) -> StepOutput:
        token = one.ready.pop(0)
        one.tokens.append(token)
        one.left -= 1
        reason: Any = "stop" if token == self.stop_token else "length" if not one.left else None
        if reason and not self.forgets:
            one.over = reason
            del self.live[one.request_id]
        return StepOutput(one.request_id, token, reason)
