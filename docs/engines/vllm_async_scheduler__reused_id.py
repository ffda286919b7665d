"""An id that is used again right after its request ended brings the scheduler down.

vLLM 0.32.0, v1 `AsyncScheduler`. Promise: id/reusable. The step after a request's last one is scheduled before its
end is known. When that step's output comes in, `update_from_output` finds a new request under the id, and the
assertion `num_output_placeholders >= 0` in `AsyncScheduler._update_request_with_output` fails.
"""

import sys
import tempfile
from pathlib import Path

import torch
from vllm.config import CacheConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

folder = Path(tempfile.mkdtemp())
(folder / "config.json").write_text('{"architectures": ["LlamaForCausalLM"], "model_type": "llama"}')
model = ModelConfig(model=str(folder), skip_tokenizer_init=True, max_model_len=64)
cache, lengths = CacheConfig(block_size=16), {"max_model_len": 64, "max_num_batched_tokens": 64}
settings = SchedulerConfig(max_num_seqs=1, is_encoder_decoder=False, async_scheduling=True, **lengths)
config = VllmConfig(model_config=model, scheduler_config=settings, cache_config=cache)
cache.num_gpu_blocks = 8
spec = FullAttentionSpec(block_size=16, num_kv_heads=1, head_size=1, dtype=torch.float32)
kv = KVCacheConfig(8, [], [KVCacheGroupSpec(["k"], spec)])
scheduler = AsyncScheduler(config, kv, StructuredOutputManager(config), block_size=16)
scheduler.add_request(Request("a", [11, 12], SamplingParams(max_tokens=5, stop_token_ids=[9]), None))
first, second = scheduler.schedule(), scheduler.schedule()
scheduler.update_from_output(first, ModelRunnerOutput(["a"], {"a": 0}, [[9]]))  # it ends
scheduler.add_request(Request("a", [21, 22], SamplingParams(), None))
try:
    scheduler.update_from_output(second, ModelRunnerOutput(["a"], {"a": 0}, [[77]]))
except AssertionError:
    print("AssertionError from update_from_output: the new request is taken for the old one")
    sys.exit(1)
