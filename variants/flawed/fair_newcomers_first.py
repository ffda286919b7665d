"""Who has not run yet enters before all who have yielded, and under load nobody of those comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from reference.vocabulary import FinishReason, MockModel, Request, check_arguments


BREAKS = ("preempt/back",)


class StepOutput(NamedTuple):
    request_id: str
    token: int | None
    finish_reason: FinishReason | None


@dataclass(eq=False)
class Member:
    request_id: str
    tokens: list[int]
    left: int
    streak: int = 0
    tokens_given: int = 0
    over: bool = False


class Engine:
    def __init__(self, model: MockModel, num_slots: int, stop_token: int, *, quantum: int) -> None:
        check_arguments([], num_slots)
        if quantum < 1:
            raise ValueError("a quantum has at least one token")
        self.model, self.num_slots, self.stop_token, self.quantum = model, num_slots, stop_token, quantum
        self.line: list[Member] = []
        self.names: dict[str, Member] = {}
        self.mail: list[tuple[Member, FinishReason]] = []
        self.settled = False

    def add_request(self, request: Request) -> None:
        check_arguments([request], self.num_slots)
        if request.request_id in self.names:
            raise ValueError(f"{request.request_id!r} is in use")
        member = Member(request.request_id, list(request.prompt), request.max_tokens)
        self.names[member.request_id] = member
        if member.left:
            resuming = [i for i, m in enumerate(self.line) if i >= self.num_slots and m.tokens_given]
            self.line.insert(min(resuming, default=len(self.line)), member)
        else:
            self.mail.append((member, "length"))

    def abort_request(self, request_id: str) -> None:
        member = self.names.pop(request_id, None)
        if member is None:
            return
        member.over = True
        self.line = [other for other in self.line if other is not member]
        self.mail = [(other, reason) for other, reason in self.mail if other is not member]
        self.mail.append((member, "abort"))

    def has_unfinished_requests(self) -> bool:
        return bool(self.names or self.mail)

    def take_turns(self) -> list[Member]:
        if not self.settled:
            due = [member for member in self.line[: self.num_slots] if member.streak >= self.quantum]
            waiting = max(0, len(self.line) - self.num_slots)
            for member in due[:waiting]:
                self.line.remove(member)
                member.streak = 0
                self.line.append(member)
        self.settled = True
        return self.line[: self.num_slots]

    def step(self) -> list[StepOutput]:
        running = self.take_turns()
        tokens = self.model.next_tokens([list(member.tokens) for member in running]) if running else []
        if len(tokens) != len(running):
            raise ValueError(f"{len(running)} rows were sent, and {len(tokens)} tokens came back")
        self.settled = False
        outputs = [self.closed(member, reason) for member, reason in self.mail]
        self.mail = []
        for member, token in zip(running, tokens, strict=True):
            if not member.over:
                outputs.append(self.take(member, token))
        return outputs

    def take(self, member: Member, token: int) -> StepOutput:
        member.tokens.append(token)
        member.left -= 1
        member.streak += 1
        member.tokens_given += 1
        if token != self.stop_token and member.left:
            return StepOutput(member.request_id, token, None)
        member.over = True
        self.line.remove(member)
        return self.closed(member, "stop" if token == self.stop_token else "length", token)

    def closed(self, member: Member, reason: FinishReason, token: int | None = None) -> StepOutput:
        if self.names.get(member.request_id) is member:
            del self.names[member.request_id]
        return StepOutput(member.request_id, token, reason)
