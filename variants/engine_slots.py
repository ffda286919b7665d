"""Permanent slots: each has a tenant or none, and a newcomer looks for the first empty one.

Requests that end between steps leave a note in `mail`, which the next step that returns hands over.
The reply of a slot goes to the tenant that the slot had when the call was made, if it is there still.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from reference.vocabulary import FinishReason, MockModel, Request, check_arguments


class StepOutput(NamedTuple):
    request_id: str
    token: int | None
    finish_reason: FinishReason | None


@dataclass(eq=False)
class Tenant:
    request_id: str
    tokens: list[int]
    left: int


class Engine:
    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        check_arguments([], num_slots)
        self.model, self.stop_token = model, stop_token
        self.slots: list[Tenant | None] = [None] * num_slots
        self.queue: deque[Tenant] = deque()
        self.names: dict[str, Tenant] = {}
        self.mail: list[tuple[Tenant, FinishReason]] = []

    def add_request(self, request: Request) -> None:
        check_arguments([request], len(self.slots))
        if request.request_id in self.names:
            raise ValueError(f"{request.request_id!r} is in use")
        tenant = Tenant(request.request_id, list(request.prompt), request.max_tokens)
        self.names[request.request_id] = tenant
        if tenant.left:
            self.queue.append(tenant)
        else:
            self.mail.append((tenant, "length"))

    def abort_request(self, request_id: str) -> None:
        tenant = self.names.pop(request_id, None)
        if tenant is None:
            return
        self.slots = [None if occupant is tenant else occupant for occupant in self.slots]
        self.queue = deque(waiting for waiting in self.queue if waiting is not tenant)
        self.mail = [(other, reason) for other, reason in self.mail if other is not tenant]
        self.mail.append((tenant, "abort"))

    def has_unfinished_requests(self) -> bool:
        return bool(self.names or self.mail)

    def step(self) -> list[StepOutput]:
        for index, occupant in enumerate(self.slots):
            if occupant is None and self.queue:
                self.slots[index] = self.queue.popleft()
        sent = [(index, tenant) for index, tenant in enumerate(self.slots) if tenant is not None]
        tokens = self.model.next_tokens([list(tenant.tokens) for _, tenant in sent]) if sent else []
        if len(tokens) != len(sent):
            raise ValueError(f"{len(sent)} rows were sent, and {len(tokens)} tokens came back")
        outputs = [self.closed(tenant, reason) for tenant, reason in self.mail]
        self.mail.clear()
        for (index, tenant), token in zip(sent, tokens, strict=True):
            if self.slots[index] is not tenant:
                continue
            tenant.tokens.append(token)
            tenant.left -= 1
            if token == self.stop_token or not tenant.left:
                self.slots[index] = None
                outputs.append(self.closed(tenant, "stop" if token == self.stop_token else "length", token))
            else:
                outputs.append(StepOutput(tenant.request_id, token, None))
        return outputs

    def closed(self, tenant: Tenant, reason: FinishReason, token: int | None = None) -> StepOutput:
        if self.names.get(tenant.request_id) is tenant:
            del self.names[tenant.request_id]
        return StepOutput(tenant.request_id, token, reason)


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
