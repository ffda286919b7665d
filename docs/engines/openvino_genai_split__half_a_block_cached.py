"""A request cancelled while it is prefilled leaves half a block in the prefix cache, and the next one reads all of it.

openvino-genai 2026.4.1. Promise: abort/isolated. Expected: the same tokens with and without a cancelled one before.
Observed: others. The block stays under the hash of all its tokens, for `BlockManager::restore_cached_blocks` to take.
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
limits.enable_prefix_caching, limits.max_num_batched_tokens, limits.num_kv_blocks = True, 16, 64
with tempfile.TemporaryDirectory() as folder:
    ov.save_model(model, f"{folder}/openvino_model.xml")
    engines = [genai.ContinuousBatchingPipeline(folder, limits, "CPU") for _ in range(2)]
left = engines[1].add_request(0, prompt := ov.Tensor(np.arange(40)[None] % 16), config)
for act in (engines[1].step, left.cancel, engines[1].step):
    act()
handles = [engine.add_request(1, prompt, config) for engine in engines]
for engine in engines * 20:
    engine.step()
alone, after = (handle.read_all()[0].generated_ids for handle in handles)
sys.exit(None if alone == after else f"{after} after one that was cancelled, {alone} without")
