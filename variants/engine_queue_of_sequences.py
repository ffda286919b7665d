"""A scheduler in the style of small serving engines: `schedule`, run the model, `postprocess`.

One list of sequences in the order of arrival, each with a status. The batch is computed from it before
every call, so there is nothing to keep in step: the first `num_slots` that are not over are the batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from reference.vocabulary import Dialect, FinishReason, MockModel, Request, check_arguments


class StepOutput(NamedTuple):
    request_id: str
    token: int | None
    finish_reason: FinishReason | None


class Status(Enum):
    UNFINISHED = auto()
    OVER = auto()  # its ending has still to be told


@dataclass(eq=False)
class Sequence:
    request: Request
    limit: int
    output: list[int] = field(default_factory=list)
    status: Status = Status.UNFINISHED
    reason: FinishReason | None = None

    def end(self, reason: FinishReason) -> None:
        self.status, self.reason = Status.OVER, reason


class Engine:
    def __init__(self, model: MockModel, num_slots: int, stop_token: int, *, dialect: Dialect = Dialect()) -> None:
        check_arguments([], num_slots)
        self.model, self.num_slots, self.stop_token, self.dialect = model, num_slots, stop_token, dialect
        self.sequences: list[Sequence] = []

    def holder(self, request_id: str) -> Sequence | None:
        """The sequence that has the id: not aborted, and not told to be over."""
        held = (s for s in self.sequences if s.request.request_id == request_id and s.reason != "abort")
        return next(held, None)

    def add_request(self, request: Request) -> None:
        check_arguments([request], self.num_slots)
        if self.holder(request.request_id):
            raise ValueError(f"the id {request.request_id!r} belongs to a request that has not finished")
        copy = Request(request.request_id, list(request.prompt), request.max_tokens)
        sequence = Sequence(copy, self.dialect.limit(request))
        if not sequence.limit:
            sequence.end("length")
        self.sequences.append(sequence)

    def abort_request(self, request_id: str) -> None:
        if sequence := self.holder(request_id):
            sequence.end("abort")

    def has_unfinished_requests(self) -> bool:
        return bool(self.sequences)

    def schedule(self) -> list[Sequence]:
        return [s for s in self.sequences if s.status is Status.UNFINISHED][: self.num_slots]

    def step(self) -> list[StepOutput]:
        batch, owed = self.schedule(), [s for s in self.sequences if s.status is Status.OVER]
        rows = [[*s.request.prompt, *s.output] for s in batch]
        if batch and self.dialect.batch == "padded":
            rows += [[] for _ in range(self.num_slots - len(batch))]
        sent = len(rows)  # afterwards they are the model's
        tokens = self.model.next_tokens(rows) if batch else []
        if len(tokens) != sent:
            raise ValueError(f"{sent} rows were sent, and {len(tokens)} tokens came back")
        return self.postprocess(batch, tokens, owed)

    def postprocess(self, batch: list[Sequence], tokens: list[int], owed: list[Sequence]) -> list[StepOutput]:
        # Who was aborted inside the call is not owed yet: the next step tells it.
        outputs = [StepOutput(s.request.request_id, None, s.reason) for s in owed]
        told = set(map(id, owed))
        for sequence, token in zip(batch, tokens, strict=False):  # pads are behind the batch
            if sequence.status is Status.OVER:
                continue
            sequence.output.append(token)
            if token == self.stop_token:
                sequence.end("stop")
            elif len(sequence.output) == sequence.limit:
                sequence.end("length")
            if sequence.reason is not None:
                told.add(id(sequence))
            hidden = token == self.stop_token and self.dialect.stop_token == "excluded"
            outputs.append(StepOutput(sequence.request.request_id, None if hidden else token, sequence.reason))
        self.sequences = [s for s in self.sequences if id(s) not in told]
        return outputs


def generate(
    model: MockModel, requests: list[Request], num_slots: int, stop_token: int, *, dialect: Dialect = Dialect()
) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    engine = Engine(model, num_slots, stop_token, dialect=dialect)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    for request in requests:
        engine.add_request(request)
    while engine.has_unfinished_requests():
        for output in engine.step():
            results[output.request_id] += [] if output.token is None else [output.token]
    return results
