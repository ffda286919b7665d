"""Cancelling the request that runs throws away those that wait.

openvino-genai 2026.4.1, `max_num_seqs` without split fuse. Promise: abort/isolated, an abort changes nothing for any
other request. Expected: the one that waits gets the slot. Observed: it ends as IGNORED, out of memory, while the cache
is nearly empty. `Scheduler::_num_running_sequence_groups` counts the cancelled one, so no prompt is scheduled;
`ContinuousBatchingImpl::step` takes a step without tokens for one without memory, and drops all.
"""

import sys
import tempfile

import numpy as np
import openvino as ov
import openvino_genai as genai

random, op = np.random.default_rng(0).standard_normal, ov.opset13  # a tiny decoder with random weights
names = ("input_ids", "attention_mask", "position_ids", "beam_idx")
given = [op.parameter([-1] * (1 if name == "beam_idx" else 2), np.int64, name=name) for name in names]
flat = op.reshape(op.gather(random((32, 32), np.float32), op.add(given[0], given[2]), 0), [0, 0, 1, 32], True)
query, *new = (op.matmul(op.transpose(flat, [0, 2, 1, 3]), random((32, 32), np.float32), False, False) for _ in "qkv")
none, shape = np.zeros((1, 1, 0, 32), np.float32), ov.PartialShape([-1, 1, -1, 32])
past = [ov.opset6.read_value(none, kind, ov.Type.f32, shape) for kind in "kv"]
kept = [op.concat([op.gather(p, given[3], 0), n], 2) for p, n in zip(past, new, strict=True)]
seen = op.scaled_dot_product_attention(query, *kept, op.unsqueeze(op.convert(given[1], "f32"), [1, 2]))
logits = op.matmul(op.squeeze(seen, [1]), random((32, 16), np.float32), False, False).output(0)
model = ov.Model([logits], [ov.opset6.assign(k, kind) for k, kind in zip(kept, "kv", strict=True)], given)
for port, name in zip([model.output(0), *model.inputs], ("logits", *names), strict=True):
    port.get_tensor().set_names({name})
limits, config = genai.SchedulerConfig(), genai.GenerationConfig(max_new_tokens=4, eos_token_id=1, ignore_eos=True)
limits.max_num_seqs, limits.dynamic_split_fuse, limits.num_kv_blocks = 1, False, 64
with tempfile.TemporaryDirectory() as folder:
    ov.save_model(model, f"{folder}/openvino_model.xml")
    engine = genai.ContinuousBatchingPipeline(folder, limits, "CPU")
runs, waits = (engine.add_request(number, ov.Tensor(np.array([[5]])), config) for number in range(2))
engine.step()
runs.cancel()
for _ in range(9):
    engine.step()
sys.exit(None if (end := waits.get_status().name) == "FINISHED" else f"the one that waited ended as {end}")
