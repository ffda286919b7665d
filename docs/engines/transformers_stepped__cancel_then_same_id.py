"""A cancel takes the new request with the same id as well.

transformers 5.24.0, continuous batching. Promise: id/reusable, after an abort its id can be used again at once. A
client cancels and comes back under the same id before the loop has looked: `_update_tp_group_state` drains the queue
of new requests first and the queue of cancellations after it, so the cancellation, which is older, hits the newcomer
too; it is dropped, and its reader waits for ever.
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
general = GenerationConfig(do_sample=False, eos_token_id=-1)
manager = model.init_continuous_batching(general, config)
manager.add_request([7, 8], "a", max_new_tokens=3)
manager.cancel_request("a")
manager.add_request([9], "a", max_new_tokens=3)
manager.start()
result = manager.get_result(timeout=5)
print(f"the new request: {'never answered' if result is None else result.generated_tokens}")
manager.stop(block=True)
sys.exit(1 if result is None else 0)
