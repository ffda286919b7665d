"""A token in flight for an aborted request is given to the new request with its id.

vLLM 0.32.0, v1 `Scheduler`. Promise: abort/silent and id/reusable. An abort and a new request with the same id arrive
between `schedule` and `update_from_output`; the latter looks the request up by its id, finds the new one, and gives it
the old one's token. vLLM's front end adds random characters to every id, which hides it (vllm-project/vllm#29987).
"""

import sys
import tempfile
from pathlib import Path

import torch
from vllm.config import CacheConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus
from vllm.v1.structured_output import StructuredOutputManager

folder = Path(tempfile.mkdtemp())
(folder / "config.json").write_text('{"architectures": ["LlamaForCausalLM"], "model_type": "llama"}')
model = ModelConfig(model=str(folder), skip_tokenizer_init=True, max_model_len=64)
cache, lengths = CacheConfig(block_size=16), {"max_model_len": 64, "max_num_batched_tokens": 64}
settings = SchedulerConfig(max_num_seqs=1, is_encoder_decoder=False, async_scheduling=False, **lengths)
config = VllmConfig(model_config=model, scheduler_config=settings, cache_config=cache)
cache.num_gpu_blocks = 8
spec = FullAttentionSpec(block_size=16, num_kv_heads=1, head_size=1, dtype=torch.float32)
scheduler = Scheduler(
    config, KVCacheConfig(8, [], [KVCacheGroupSpec(["k"], spec)]), StructuredOutputManager(config), block_size=16
)

scheduler.add_request(Request("a", [11, 12], SamplingParams(max_tokens=5), None))
scheduled = scheduler.schedule()
scheduler.finish_requests("a", RequestStatus.FINISHED_ABORTED)
scheduler.add_request(new := Request("a", [21, 22], SamplingParams(max_tokens=5), None))
scheduler.update_from_output(scheduled, ModelRunnerOutput(["a"], {"a": 0}, [[77]]))
print(f"the new request, which was never scheduled, has generated {list(new.output_token_ids)}")
sys.exit(1 if list(new.output_token_ids) else 0)
