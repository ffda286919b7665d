"""A client that cancels and comes back stops the loop for everybody.

transformers 5.24.0, continuous batching. Promise: abort/isolated, an abort changes nothing for any other request. A
request is added, cancelled and added again under its id while another one runs. The order of waiting requests has the
id twice and the dict of them has it once; `Scheduler` meets the second entry with a KeyError, which ends the
generation loop: the request that was running is failed, and so is everyone after it.
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
manager = model.init_continuous_batching(GenerationConfig(do_sample=False, eos_token_id=-1), config)
manager.add_request([7, 8], "other", max_new_tokens=3)
for _ in range(2):
    manager.add_request([9], "a", max_new_tokens=3)
    manager.cancel_request("a")
manager.add_request([9], "a", max_new_tokens=3)
manager.start()
results = [manager.get_result(timeout=3) for _ in range(2)]
told = {result.request_id: result.error or len(result.generated_tokens) for result in results if result}
print(told)
manager.stop(block=True)
sys.exit(0 if told.get("other") == 3 else 1)
