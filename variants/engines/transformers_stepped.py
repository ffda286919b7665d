"""Continuous batching of Hugging Face transformers behind the engine profile, stepped without its thread.

Slots are `max_requests_per_batch`, ids are the caller's. `add_request` and `cancel_request` are the manager's; a step
is the body of its loop, `prepare_next_batch`, `_generation_step` and `update_batch`, which are private; tokens come
from its queue of results. `max_new_tokens` and `eos_token_id` are each request's. Block sharing is on, with pages of
4 tokens and at most 32 tokens a step, so that prefixes are shared and prompts are cut.

The model writes token ids as keys through `PagedAttentionCache.update`, and reads them back through the engine's
mask. This file tells why a request ended, which the results do not say, and gives the endings of cancelled ones.
"""

from __future__ import annotations

import logging
import queue
from typing import Any

import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
from transformers.generation.configuration_utils import ContinuousBatchingConfig
from transformers.modeling_outputs import CausalLMOutputWithPast

from reference.vocabulary import MockModel, Request, check_arguments
from variants.engines.exact import ARGUMENTS, Alphabet, StepOutput

ENGINE = "transformers continuous batching"
PACKAGES = ("transformers", "torch")
INSTALL = "pip install torch==2.13.0 transformers==5.24.0 (a CPU build of torch is enough)"
VOCABULARY = 1024
REFUSES = {"a failing call": "it ends the loop by design: every request is told the error, and the thread stops"}
UNSEEN = ARGUMENTS
POLICY = {
    "arrival/next-call": (
        "a request waits at most 4 steps beside a free slot",
        "a step computes at most `max_batch_tokens`; who does not fit waits for the next one",
    ),
}

torch.set_num_threads(1)
logging.getLogger("transformers").setLevel(logging.CRITICAL)


class ExactModel(LlamaForCausalLM):  # type: ignore[misc]
    """A Llama of which the keys are the token ids; `asked` is the referee's model of the engine under test."""

    def __init__(self) -> None:
        tiny = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
        super().__init__(LlamaConfig(vocab_size=VOCABULARY, attn_implementation="sdpa", **tiny))
        self.asked: MockModel | None = None
        self.alphabet = Alphabet(VOCABULARY)
        self.wanted = 0  # of the places among the logits, those of which a token is taken; the others are cut prompts'

    def forward(self, input_ids: Any, cache: Any, attention_mask: Any, logits_indices: Any, **more: Any) -> Any:
        keys = input_ids[:, None, :, None].float().expand(1, 1, -1, 8)
        seen, _ = cache.update(keys, keys, 0, more)
        mask = attention_mask["full_attention"] if isinstance(attention_mask, dict) else attention_mask
        ids: list[int] = seen[0, 0, :, 0].long().tolist()
        rows, places = [], logits_indices.tolist()[: self.wanted]
        for place in places:
            sees = (mask[0, 0, place] if mask.dtype == torch.bool else mask[0, 0, place] == 0).tolist()
            rows.append([key for key, see in zip(ids, sees, strict=True) if see])
        assert self.asked is not None
        answers = self.asked.next_tokens([self.alphabet.tokens(row) for row in rows]) if rows else []
        logits = torch.zeros(1, input_ids.shape[1], VOCABULARY)
        for place, answer in zip(places, self.alphabet.ids(answers), strict=True):
            logits[0, place, answer] = 1
        return CausalLMOutputWithPast(logits=logits[:, logits_indices] if "logits_to_keep" in more else logits)


MODEL = ExactModel().eval()


class Engine:
    """One manager with its batch processor."""

    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        check_arguments([], num_slots)
        self.model, self.alphabet, self.stop_token = model, Alphabet(VOCABULARY), stop_token
        self.stop = self.alphabet.id(stop_token)
        config = ContinuousBatchingConfig(
            page_size=4, num_blocks=256, max_batch_tokens=32, max_requests_per_batch=num_slots, use_async_batching=False
        )
        general = GenerationConfig(do_sample=False, eos_token_id=self.stop, max_new_tokens=8)
        self.manager = MODEL.init_continuous_batching(general, config)
        self.processor = self.manager._create_batch_processor()
        self.manager.batch_processor = self.processor
        self.live: dict[str, int] = {}  # how many tokens were told
        self.ended: list[StepOutput] = []

    def add_request(self, request: Request) -> None:
        check_arguments([request], 1)
        prompt, limit = self.alphabet.ids(request.prompt), request.max_tokens
        self.manager.add_request(
            prompt, request.request_id, max_new_tokens=limit, eos_token_id=self.stop, streaming=True
        )
        self.live[request.request_id] = 0

    def abort_request(self, request_id: str) -> None:
        if self.live.pop(request_id, None) is not None:
            self.ended.append(StepOutput(request_id, None, "abort"))
            self.manager.cancel_request(request_id)

    def has_unfinished_requests(self) -> bool:
        return bool(self.live or self.ended)

    def step(self) -> list[StepOutput]:
        MODEL.asked, MODEL.alphabet = self.model, self.alphabet
        with torch.no_grad():
            if self.processor.prepare_next_batch():
                batch = self.processor.inputs_and_outputs.requests_in_batch
                MODEL.wanted = sum(state.has_new_token for state in batch)
                self.manager._generation_step()
                self.processor.update_batch()
        outputs, self.ended = self.ended, []
        while True:
            try:
                outputs += self._told(self.manager.output_router.output_queue.get_nowait())
            except queue.Empty:
                return outputs

    def _told(self, result: Any) -> list[StepOutput]:
        name = result.request_id
        if name not in self.live:
            return []  # cancelled
        fresh = self.alphabet.tokens(result.generated_tokens[self.live[name] :])
        self.live[name] += len(fresh)
        outputs = [StepOutput(name, token, None) for token in fresh]
        if result.is_finished():
            del self.live[name]
            reason: Any = "stop" if fresh and fresh[-1] == self.stop_token else "length"
            outputs[-1:] = [StepOutput(name, fresh[-1] if fresh else None, reason)]
        return outputs
