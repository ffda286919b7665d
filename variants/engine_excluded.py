"""Plain data and no classes of its own: a request is a row of parallel columns, known by a serial number.

It gives back a stop token to nobody, and tells endings in the order of the serial numbers.
"""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

from reference.vocabulary import MockModel, Request, check_arguments

DIALECT = {"stop_token": "excluded"}


class Engine:
    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        check_arguments([], num_slots)
        self.model, self.num_slots, self.stop_token = model, num_slots, stop_token
        self.serial = count()
        self.name: dict[int, str] = {}
        self.tokens: dict[int, list[int]] = {}
        self.left: dict[int, int] = {}
        self.waiting: list[int] = []
        self.running: list[int] = []
        self.why: dict[int, str] = {}

    def number(self, request_id: str) -> int | None:
        return next((n for n, name in self.name.items() if name == request_id and self.why.get(n) != "abort"), None)

    def add_request(self, request: Request) -> None:
        check_arguments([request], self.num_slots)
        if self.number(request.request_id) is not None:
            raise ValueError(f"duplicate id {request.request_id!r}")
        number = next(self.serial)
        self.name[number], self.tokens[number] = request.request_id, list(request.prompt)
        self.left[number] = request.max_tokens
        if request.max_tokens:
            self.waiting.append(number)
        else:
            self.why[number] = "length"

    def abort_request(self, request_id: str) -> None:
        number = self.number(request_id)
        if number is not None:
            self.waiting = [n for n in self.waiting if n != number]
            self.running = [n for n in self.running if n != number]
            self.why[number] = "abort"

    def has_unfinished_requests(self) -> bool:
        return bool(self.name)

    def step(self) -> list[SimpleNamespace]:
        room = self.num_slots - len(self.running)
        self.running, self.waiting = self.running + self.waiting[:room], self.waiting[room:]
        batch = list(self.running)
        tokens = self.model.next_tokens([list(self.tokens[number]) for number in batch]) if batch else []
        if len(tokens) != len(batch):
            raise ValueError(f"{len(tokens)} tokens for {len(batch)} rows")
        shown: dict[int, int | None] = {}
        for number, token in zip(batch, tokens, strict=True):
            if number not in self.why:
                self.take(number, token)
                shown[number] = None if token == self.stop_token else token
        told = sorted(self.why.keys() | shown.keys())
        outputs = [
            SimpleNamespace(request_id=self.name[n], token=shown.get(n), finish_reason=self.why.get(n)) for n in told
        ]
        for number in list(self.why):
            for column in (self.why, self.name, self.tokens, self.left):
                del column[number]
        return outputs

    def take(self, number: int, token: int) -> None:
        self.tokens[number].append(token)
        self.left[number] -= 1
        if token == self.stop_token:
            self.why[number] = "stop"
        elif not self.left[number]:
            self.why[number] = "length"
        if number in self.why:
            self.running.remove(number)


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
