"""After a model call that failed, the requests beside the offender are never served again.

openvino-genai 2026.4.1. Promise: failure/resumable. Expected: abort the offender, step, and the other one goes on.
Observed: each `step` raises `get_num_scheduled_tokens() == 0`, as the failed one's schedule is left standing in `step`.
"""

import contextlib
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
width = op.subtract(np.int64(32), op.convert(op.greater(op.reduce_max(given[0], [0, 1], True), np.int64(31)), "i64"))
known = op.reshape(seen, op.concat([np.array([0, 0]), op.reshape(width, [1], False)], 0), True)  # fails beyond 31
logits = op.matmul(known, random((32, 16), np.float32), False, False).output(0)
model = ov.Model([logits], [ov.opset6.assign(k, kind) for k, kind in zip(kept, "kv", strict=True)], given)
for port, name in zip([model.output(0), *model.inputs], ("logits", *names), strict=True):
    port.get_tensor().set_names({name})
with tempfile.TemporaryDirectory() as folder:
    ov.save_model(model, f"{folder}/openvino_model.xml")
    engine = genai.ContinuousBatchingPipeline(folder, genai.SchedulerConfig(), "CPU")
four = genai.GenerationConfig(max_new_tokens=4, eos_token_id=1, ignore_eos=True)
good, bad = (engine.add_request(token, ov.Tensor(np.array([[token]])), four) for token in (5, 99))
for _ in range(9):
    with contextlib.suppress(RuntimeError):
        engine.step()
    bad.cancel()
sys.exit(None if (end := good.get_status().name) == "FINISHED" else f"the other request is {end} after 9 steps")
