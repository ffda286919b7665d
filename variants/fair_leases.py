"""Slots are leased: a lease begins at a tick, and once it is `quantum` ticks old it can be taken over by who waits.

The clock ticks when the model has answered, so nothing is counted per request, and a call that fails takes no
time. The leases that have run out are found by their age, the oldest first.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from reference.vocabulary import FinishReason, MockModel, Request, check_arguments


class StepOutput(NamedTuple):
    request_id: str
    token: int | None
    finish_reason: FinishReason | None


@dataclass(eq=False)
class Tenant:
    request_id: str
    prompt: tuple[int, ...]
    limit: int
    output: list[int] = field(default_factory=list)


class Lease(NamedTuple):
    begun: int  # the tick
    number: int  # leases of one tick are told apart by it
    tenant: Tenant


class Engine:
    def __init__(self, model: MockModel, num_slots: int, stop_token: int, *, quantum: int) -> None:
        check_arguments([], num_slots)
        if quantum < 1:
            raise ValueError(f"a lease cannot be for {quantum} ticks")
        self.model, self.stop_token, self.quantum = model, stop_token, quantum
        self.slots: list[Lease | None] = [None] * num_slots
        self.queue: deque[Tenant] = deque()
        self.tenants: dict[str, Tenant] = {}
        self.notices: list[tuple[Tenant, FinishReason]] = []
        self.clock, self.rotated = 0, -1
        self.numbers = count()

    def add_request(self, request: Request) -> None:
        check_arguments([request], len(self.slots))
        if request.request_id in self.tenants:
            raise ValueError(f"there is a request {request.request_id!r}")
        tenant = Tenant(request.request_id, tuple(request.prompt), request.max_tokens)
        self.tenants[request.request_id] = tenant
        if tenant.limit > 0:
            self.queue.append(tenant)
        else:
            self.notices.append((tenant, "length"))

    def abort_request(self, request_id: str) -> None:
        tenant = self.tenants.pop(request_id, None)
        if tenant is not None:
            self.slots = [None if lease and lease.tenant is tenant else lease for lease in self.slots]
            self.queue = deque(other for other in self.queue if other is not tenant)
            self.notices = [notice for notice in self.notices if notice[0] is not tenant] + [(tenant, "abort")]

    def has_unfinished_requests(self) -> bool:
        return len(self.tenants) + len(self.notices) > 0

    def let(self, slot: int) -> None:
        self.slots[slot] = Lease(self.clock, next(self.numbers), self.queue.popleft())

    def rotate(self) -> None:
        for slot, lease in enumerate(self.slots):
            if lease is None and self.queue:
                self.let(slot)
        if self.rotated == self.clock:
            return
        self.rotated = self.clock
        leases = [(lease, slot) for slot, lease in enumerate(self.slots) if lease is not None]
        old = sorted((lease.begun, lease.number, slot) for lease, slot in leases)
        over = [slot for begun, _, slot in old if self.clock - begun >= self.quantum]
        for slot in over[: len(self.queue)]:
            lease = self.slots[slot]
            self.let(slot)
            if lease is not None:
                self.queue.append(lease.tenant)

    def step(self) -> list[StepOutput]:
        self.rotate()
        asked = [(slot, lease) for slot, lease in enumerate(self.slots) if lease is not None]
        rows = [[*lease.tenant.prompt, *lease.tenant.output] for _, lease in asked]
        replies = self.model.next_tokens(rows) if rows else []
        if len(replies) != len(asked):
            raise ValueError(f"{len(replies)} replies to {len(asked)} rows")
        self.clock += 1
        notices, self.notices = self.notices, []
        outputs = [self.leave(tenant, None, reason) for tenant, reason in notices]
        for (slot, lease), reply in zip(asked, replies, strict=True):
            if self.slots[slot] is lease:
                outputs.append(self.write(slot, lease.tenant, reply))
        return outputs

    def write(self, slot: int, tenant: Tenant, token: int) -> StepOutput:
        tenant.output.append(token)
        if token == self.stop_token or len(tenant.output) == tenant.limit:
            self.slots[slot] = None
            return self.leave(tenant, token, "stop" if token == self.stop_token else "length")
        return StepOutput(tenant.request_id, token, None)

    def leave(self, tenant: Tenant, token: int | None, reason: FinishReason) -> StepOutput:
        if self.tenants.get(tenant.request_id) is tenant:
            self.tenants.pop(tenant.request_id)
        return StepOutput(tenant.request_id, token, reason)
