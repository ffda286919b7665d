"""An engine with an interface of its own: `submit` gives a ticket, `pump` calls back, `cancel` forgets.

It stands for another project's engine, which knows nothing of ids, of `StepOutput`, or of this project.
`token_pump_adapter.py` puts it behind the profile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Done = Literal["eos", "budget", None]


@dataclass(eq=False)
class Ticket:
    """A place in the line; `on_token(token, done)` is called for every token, `done` with the last one."""

    text: list[int]
    budget: int
    on_token: Callable[[int, Done], None]
    cancelled: bool = False


@dataclass
class TokenPump:
    """Decodes up to `width` texts at a time. `predict` is given texts, and gives a token for each."""

    predict: Callable[[list[list[int]]], list[int]]
    width: int
    eos: int
    line: list[Ticket] = field(default_factory=list)

    def submit(self, text: list[int], budget: int, on_token: Callable[[int, Done], Any]) -> Ticket:
        """Get in line. A budget below one token makes no sense here."""
        if budget < 1:
            raise ValueError("nothing to decode")
        ticket = Ticket(list(text), budget, on_token)
        self.line.append(ticket)
        return ticket

    def cancel(self, ticket: Ticket) -> None:
        """Leave the line; no callback tells of it."""
        ticket.cancelled = True

    def pump(self) -> bool:
        """Decode one token of each of the first in line; false when nobody is."""
        self.line = [ticket for ticket in self.line if not ticket.cancelled]
        front = self.line[: self.width]
        if not front:
            return False
        tokens = self.predict([list(ticket.text) for ticket in front])
        if len(tokens) != len(front):
            raise RuntimeError("the predictor lost count")
        for ticket, token in zip(front, tokens, strict=True):
            if ticket.cancelled:
                continue
            ticket.text.append(token)
            ticket.budget -= 1
            done: Done = "eos" if token == self.eos else "budget" if not ticket.budget else None
            if done:
                ticket.cancelled = True
            ticket.on_token(token, done)
        return True
