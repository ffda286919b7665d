"""One coroutine a submission: it yields the prefix to send, is sent the token, and returns why it is over.

The engine knows nothing of limits. An abort closes the coroutine; what comes for a closed one is dropped.
A coroutine moves on only when its token is there, so a call that fails leaves every one where it was.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from reference.vocabulary import FinishReason, MockModel, Request, check_arguments


class StepOutput(NamedTuple):
    request_id: str
    token: int | None
    finish_reason: FinishReason | None


Decoding = Generator[list[int], int, FinishReason]


def decode(prompt: list[int], limit: int, stop_token: int) -> Decoding:
    generated: list[int] = []
    while len(generated) < limit:
        token = yield [*prompt, *generated]
        generated.append(token)
        if token == stop_token:
            return "stop"
    return "length"


class Submission:
    """A coroutine and the row that it waits with; None when it is over, and `reason` says why."""

    def __init__(self, request: Request, stop_token: int) -> None:
        self.request_id = request.request_id
        self.decoding = decode(list(request.prompt), request.max_tokens, stop_token)
        self.row: list[int] | None = None
        self.reason: FinishReason | None = None
        self.advance(None)

    def advance(self, token: int | None) -> None:
        try:
            self.row = next(self.decoding) if token is None else self.decoding.send(token)
        except StopIteration as over:
            self.row, self.reason = None, over.value

    def close(self) -> None:
        self.decoding.close()
        self.row, self.reason = None, "abort"


class Engine:
    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        check_arguments([], num_slots)
        self.model, self.num_slots, self.stop_token = model, num_slots, stop_token
        self.open: dict[str, Submission] = {}  # in the order of arrival, so the first ones are those that run
        self.over: list[Submission] = []

    def add_request(self, request: Request) -> None:
        check_arguments([request], self.num_slots)
        holder = self.open.get(request.request_id)
        if holder or any(o.request_id == request.request_id and o.reason != "abort" for o in self.over):
            raise ValueError(f"there is a request {request.request_id!r}")
        submission = Submission(request, self.stop_token)
        if submission.row is None:
            self.over.append(submission)
        else:
            self.open[request.request_id] = submission

    def abort_request(self, request_id: str) -> None:
        submission = self.open.pop(request_id, None)
        if submission is not None:
            submission.close()
            self.over.append(submission)
        for other in self.over:
            if other.request_id == request_id:
                other.close()

    def has_unfinished_requests(self) -> bool:
        return bool(self.open or self.over)

    def step(self) -> list[StepOutput]:
        running = list(self.open.values())[: self.num_slots]
        if running:
            tokens = self.model.next_tokens([list(submission.row or ()) for submission in running])
            if len(tokens) != len(running):
                raise ValueError(f"{len(running)} rows were sent, and {len(tokens)} tokens came back")
        else:
            tokens = []
        outputs = [StepOutput(submission.request_id, None, submission.reason) for submission in self.over]
        self.over = []
        for submission, token in zip(running, tokens, strict=True):
            if submission.reason is not None:
                continue
            submission.advance(token)
            if submission.reason:
                del self.open[submission.request_id]
            outputs.append(StepOutput(submission.request_id, token, submission.reason))
        return outputs


def generate(model: MockModel, requests: list[Request], num_slots: int, stop_token: int) -> dict[str, list[int]]:
    check_arguments(requests, num_slots)
    engine = Engine(model, num_slots, stop_token)
    results: dict[str, list[int]] = {request.request_id: [] for request in requests}
    for request in requests:
        engine.add_request(request)
    while engine.has_unfinished_requests():
        for output in engine.step():
            results[output.request_id] += [] if output.token is None else [output.token]
    return results
