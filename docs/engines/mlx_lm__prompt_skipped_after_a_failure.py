"""A request is answered from a part of its prompt when the model fails while the prompt is prefilled.

mlx-lm 0.32.2, `BatchGenerator`. Promise: failure/resumable, a step whose model call raises has changed nothing: step
again, and nothing is lost. Expected: after the failure, the same tokens as without it, or an error. Observed: other
tokens, and no error. `BatchGenerator._next` takes the prompt's tokens out of `_currently_processing` before it calls
the model with them; the next step goes on behind them, and the cache never holds them.
"""

import contextlib
import sys

import mlx.core as mx
from mlx_lm.generate import BatchGenerator
from mlx_lm.models.llama import Model, ModelArgs


class Failing(Model):  # runs out of memory as often as `failures` says
    def __call__(self, *given, **more):
        if self.failures:
            self.failures -= 1
            raise RuntimeError("out of memory")
        return super().__call__(*given, **more)


mx.random.seed(0)
model = Failing(ModelArgs("llama", 16, 1, 32, 2, 1e-5, 64, num_key_value_heads=2))  # tiny, random weights
answers = []
for model.failures in (0, 1):
    generator = BatchGenerator(model, completion_batch_size=2)
    generator.insert([[5, 6, 7, 8]], max_tokens=[6])
    answers.append([])
    for _ in range(12):
        with contextlib.suppress(RuntimeError):
            answers[-1] += [response.token for response in generator.next()[1]]
print(f"without a failure {answers[0]}, after one in prefill {answers[1]}")
sys.exit(answers[0] != answers[1])
