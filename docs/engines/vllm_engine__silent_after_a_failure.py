"""After a step that raised, `LLMEngine` in one process gives no token more, and raises nothing either.

vLLM 0.32.0, `LLMEngine` with VLLM_ENABLE_V1_MULTIPROCESSING=0. Promise: failure/resumable. A failed call is the end of
an engine by vLLM's design, and where it has processes every later call raises EngineDeadError. In one process `step`
returns nothing for ever, and `has_unfinished_requests` stays true. `Scheduler._update_after_schedule` has counted the
failed call's tokens as computed, which `EngineCore.step` does not take back. To abort what is live helps.
"""

import json
import os
import sys
import tempfile
from unittest.mock import Mock

os.environ.update(VLLM_LOGGING_LEVEL="CRITICAL", VLLM_ENABLE_V1_MULTIPROCESSING="0")
import torch
from vllm import EngineArgs, LLMEngine, SamplingParams
from vllm.v1.executor.abstract import Executor
from vllm.v1.kv_cache_interface import FullAttentionSpec
from vllm.v1.outputs import EMPTY_MODEL_RUNNER_OUTPUT

SPEC = FullAttentionSpec(block_size=16, num_kv_heads=1, head_size=1, dtype=torch.float32)
FACTS = {"get_kv_cache_spec": {"k": SPEC}, "determine_available_memory": 2**20, "get_supported_tasks": ("generate",)}
FACTS |= {"get_supported_kv_cache_layouts": ["NHD"], "compile_or_warm_up_model": Mock(language_model=0, encoder=0)}
EXECUTED = Mock(side_effect=[MemoryError, *[Mock(result=lambda: EMPTY_MODEL_RUNNER_OUTPUT)] * 100])  # fails once
RPC = {"collective_rpc": lambda self, name, *given, **more: [FACTS.get(name)], "execute_model": EXECUTED}
Failing = type("Failing", (Executor,), RPC | dict.fromkeys(["_init_executor", "check_health"], lambda self: None))

with tempfile.TemporaryDirectory() as folder, open(f"{folder}/config.json", "w") as file:
    print(json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama"}), file=file, flush=True)
    args = EngineArgs(folder, skip_tokenizer_init=True, max_model_len=64, distributed_executor_backend=Failing)
    engine = LLMEngine.from_engine_args(args)
engine.add_request("a", {"prompt_token_ids": [1, 2]}, SamplingParams(max_tokens=3, detokenize=False))
try:
    engine.step()
except MemoryError:
    silent = not any(engine.step() for _ in range(100)) and engine.has_unfinished_requests()
scheduled = [call.args[0].total_num_scheduled_tokens for call in EXECUTED.call_args_list]
sys.exit(print(f"scheduled: {scheduled[0]} tokens, then {sum(scheduled[1:])} in 100 steps without an error") or silent)
