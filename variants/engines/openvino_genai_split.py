"""openvino-genai's `ContinuousBatchingPipeline` as it is by default: prompts in chunks, beside those who decode.

As `openvino_genai.py`, but with `dynamic_split_fuse` on, and at most 16 tokens a step, so that prompts are cut. The
engine has no slots then: `max_num_seqs` is not looked at. This file holds back the requests that find no slot free,
so arrivals are its own doing; chunks, the caches, failures and what an abort does to others are the engine's.
"""

from __future__ import annotations

from typing import Any

from reference.vocabulary import MockModel, Request
from variants.engines import openvino_genai as whole
from variants.engines.exact import StepOutput

ENGINE = "openvino-genai ContinuousBatchingPipeline, split fuse"
PACKAGES = ("openvino-genai", "openvino")
EXTRA = "openvino"
REFUSES = whole.REFUSES
VOCABULARY = whole.VOCABULARY
UNSEEN = whole.UNSEEN
POLICY = {
    "stream/exact-prefix": (
        "rows may be beginnings of a prompt, whose replies reach nobody",
        "a step computes at most `max_num_batched_tokens`; the rest of a prompt waits for the next one",
    ),
    "arrival/next-call": (
        "a request waits at most 30 steps beside a free slot",
        "the prompts before it are computed first, 16 tokens a step less those who decode",
    ),
}


class Engine(whole.Engine):
    """One pipeline that has no more requests than there are slots, and the requests that wait."""

    split_fuse = True

    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        super().__init__(model, num_slots, stop_token)
        self.waiting: dict[str, Request] = {}

    def entered(self, request: Request) -> Any:
        if self.waiting or sum(handle is not None for handle in self.live.values()) >= self.num_slots:
            self.waiting[request.request_id] = request
            return None
        return super().entered(request)

    def abort_request(self, request_id: str) -> None:
        self.waiting.pop(request_id, None)
        super().abort_request(request_id)

    def step(self) -> list[StepOutput]:
        waiting, self.waiting = self.waiting, {}
        for name, request in waiting.items():
            self.live[name] = self.entered(request)
        return super().step()
