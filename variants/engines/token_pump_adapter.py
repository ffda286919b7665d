"""`TokenPump` of `token_pump.py` behind the engine profile: ids for tickets, and the endings it does not tell."""

from __future__ import annotations

from typing import NamedTuple

from reference.vocabulary import FinishReason, MockModel, Request, check_arguments
from variants.engines.token_pump import Done, Ticket, TokenPump

REASONS: dict[Done, FinishReason | None] = {"eos": "stop", "budget": "length", None: None}


class StepOutput(NamedTuple):
    request_id: str
    token: int | None
    finish_reason: FinishReason | None


class Engine:
    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        check_arguments([], num_slots)
        self.pump = TokenPump(model.next_tokens, num_slots, stop_token)
        self.tickets: dict[str, Ticket | None] = {}  # None has nothing to decode
        self.aborted: list[str] = []
        self.tokens: list[StepOutput] = []

    def add_request(self, request: Request) -> None:
        check_arguments([request], 1)
        name = request.request_id
        if name in self.tickets:
            raise ValueError(f"{name!r} is live")

        def on_token(token: int, done: Done) -> None:
            self.tokens.append(StepOutput(name, token, REASONS[done]))
            if done:
                del self.tickets[name]

        limit = request.max_tokens
        self.tickets[name] = self.pump.submit(request.prompt, limit, on_token) if limit else None

    def abort_request(self, request_id: str) -> None:
        if request_id in self.tickets:
            ticket = self.tickets.pop(request_id)
            if ticket is not None:
                self.pump.cancel(ticket)
            self.aborted.append(request_id)

    def has_unfinished_requests(self) -> bool:
        return bool(self.tickets or self.aborted)

    def step(self) -> list[StepOutput]:
        self.pump.pump()
        empty = [name for name, ticket in self.tickets.items() if ticket is None]
        ended = [StepOutput(name, None, "abort") for name in self.aborted]
        ended += [StepOutput(name, None, "length") for name in empty]
        self.tickets = {name: ticket for name, ticket in self.tickets.items() if ticket is not None}
        outputs, self.tokens, self.aborted = ended + self.tokens, [], []
        return outputs
