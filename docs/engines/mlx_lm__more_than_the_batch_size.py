"""More sequences are decoded at once than `completion_batch_size` allows.

mlx-lm 0.32.2, `BatchGenerator`. Promise: arrival/one-call, a call has at most `num_slots` rows. With a batch size of 2,
expected are at most 2 sequences in decoding; 3 are. `BatchGenerator._next` takes new sequences in while
`completion_batch_size - len(generation_batch)` is positive, and does not count those that are still in the prompt
batch; they come on top when their prefill is over. What was reserved for the batch size is exceeded.
"""

import sys

import mlx.core as mx
from mlx_lm.generate import BatchGenerator
from mlx_lm.models.llama import Model, ModelArgs

mx.random.seed(0)
args = ModelArgs("llama", 16, 1, 32, 2, 1e-5, 64, num_key_value_heads=2)  # tiny, random weights
generator = BatchGenerator(Model(args), completion_batch_size=2, prefill_batch_size=2)
generator.insert([[5, 6, 7], [8], [9]], max_tokens=[4, 9, 4])
most = 0
for _ in range(8):
    _, responses = generator.next()
    most = max(most, len(responses))
print(f"{most} sequences in one step, with completion_batch_size={generator.completion_batch_size}")
sys.exit(1 if most > 2 else 0)
