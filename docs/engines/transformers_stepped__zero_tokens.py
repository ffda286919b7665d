"""A request for no tokens costs a pass of the model.

transformers 5.24.0, continuous batching. Promise: stream/finish, a request with nothing to generate never reaches the
model. `add_request(max_new_tokens=0)` is accepted; it takes a slot, its prompt is computed, a token is sampled and
thrown away (the log says "generated a useless token"), and whoever waits for the slot waits a step longer.
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
passes = []
model.register_forward_pre_hook(lambda *_: passes.append(1))
manager = model.init_continuous_batching(GenerationConfig(do_sample=False, eos_token_id=-1), config)
manager.add_request([7, 8], "a", max_new_tokens=0)
manager.start()
result = manager.get_result(timeout=5)
manager.stop(block=True)
print(f"{len(passes)} passes for {result and result.generated_tokens}")
sys.exit(1 if passes else 0)
