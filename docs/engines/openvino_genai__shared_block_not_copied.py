"""A prompt that another request is decoding from is answered wrongly, as the block that they share is not copied.

openvino-genai 2026.4.1, prefix caching without split fuse. Promise: stream/exact-prefix. Expected: the same tokens for
a prompt each time. Observed: others beside one that has it too. `Scheduler::_schedule_prompt_phase_vllm` drops what
`append_slots` returns, the blocks to be copied on write, so the second one reads a block that nobody has written.
"""

import sys
import tempfile

import numpy as np
import openvino as ov
import openvino_genai as genai

random, op = np.random.default_rng(0).standard_normal, ov.opset13  # a tiny decoder with random weights
names = ("input_ids", "attention_mask", "position_ids", "beam_idx")
given = [op.parameter([-1] * (1 if name == "beam_idx" else 2), np.int64, name=name) for name in names]
flat = op.reshape(op.gather(random((64, 32), np.float32) / 9, op.add(given[0], given[2]), 0), [0, 0, 1, 32], True)
query, *new = (op.matmul(op.transpose(flat, [0, 2, 1, 3]), random((32, 32), np.float32), False, False) for _ in "qkv")
none, shape = np.zeros((1, 1, 0, 32), np.float32), ov.PartialShape([-1, 1, -1, 32])
past = [ov.opset6.read_value(none, kind, ov.Type.f32, shape) for kind in "kv"]
kept = [op.concat([op.gather(p, given[3], 0), n], 2) for p, n in zip(past, new, strict=True)]
seen = op.scaled_dot_product_attention(query, *kept, op.unsqueeze(op.convert(given[1], "f32"), [1, 2]))
logits = op.matmul(op.squeeze(seen, [1]), random((32, 16), np.float32), False, False).output(0)
model = ov.Model([logits], [ov.opset6.assign(k, kind) for k, kind in zip(kept, "kv", strict=True)], given)
for port, name in zip([model.output(0), *model.inputs], ("logits", *names), strict=True):
    port.get_tensor().set_names({name})
limits, config = genai.SchedulerConfig(), genai.GenerationConfig(max_new_tokens=8, eos_token_id=1, ignore_eos=True)
limits.enable_prefix_caching, limits.dynamic_split_fuse, limits.num_kv_blocks = True, False, 64
with tempfile.TemporaryDirectory() as folder:
    ov.save_model(model, f"{folder}/openvino_model.xml")
    engine = genai.ContinuousBatchingPipeline(folder, limits, "CPU")
prompt, handles = ov.Tensor(np.arange(20)[None] % 16), []
for number in range(20):
    handles += [engine.add_request(number, prompt, config)] if number < 2 else []
    engine.step()
first, second = (handle.read_all()[0].generated_ids for handle in handles)
sys.exit(None if first == second else f"{first}, and {second} for the same prompt")
