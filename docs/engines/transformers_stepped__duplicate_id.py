"""A second request with the id of a live one makes the first one disappear.

transformers 5.24.0, continuous batching. Promise: id/duplicate, the id of a live request is refused, and the live one
goes on. `add_request` takes any id. `Scheduler.add_waiting_request` keeps requests in a dict by id, so that the
second one takes the place of the first, which is never answered.
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
manager.add_request([7, 8], "a", max_new_tokens=3)
manager.add_request([9], "a", max_new_tokens=5)
manager.start()
answers = []
while (result := manager.get_result(timeout=5)) is not None:
    answers.append(len(result.generated_tokens))
manager.stop(block=True)
print(f"two requests were taken, with 3 and 5 tokens; answered were: {answers}")
sys.exit(0 if sorted(answers) == [3, 5] else 1)
