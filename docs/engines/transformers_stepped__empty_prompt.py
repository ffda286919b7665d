"""A request with an empty prompt is answered from another request's prefix.

transformers 5.24.0, continuous batching. Promise: stream/exact-prefix, the model sees a request's own prompt and
tokens. `add_request` accepts an empty prompt. It has no position in the batch, so its index into the logits points at
somebody else's position, and it is given the token of that request; alone it brings the loop down with an IndexError.
"""

import logging
import sys

import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
from transformers.generation.configuration_utils import ContinuousBatchingConfig

logging.disable(logging.CRITICAL)
torch.manual_seed(0)
tiny = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
model = LlamaForCausalLM(LlamaConfig(vocab_size=64, attn_implementation="sdpa", **tiny)).eval()  # random weights
config = ContinuousBatchingConfig(page_size=4, num_blocks=64, max_batch_tokens=32, max_requests_per_batch=2)
told = {}
with model.continuous_batching_context_manager(
    generation_config=GenerationConfig(do_sample=False, eos_token_id=-1), continuous_batching_config=config
) as manager:
    manager.add_request([], "empty", max_new_tokens=1)
    manager.add_request([7, 8, 9], "other", max_new_tokens=1)
    while len(told) < 2 and (result := manager.get_result(timeout=5)) is not None:
        told[result.request_id] = (result.generated_tokens, result.error)
print(told)
sys.exit(1 if told.get("empty") == told.get("other") or any(error for _, error in told.values()) else 0)
