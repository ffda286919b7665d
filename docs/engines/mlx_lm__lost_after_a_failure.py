"""A request is lost when the model fails in its first call.

mlx-lm 0.32.2, `BatchGenerator`. Promise: failure/resumable, a step whose model call raises has changed nothing: step
again, and nothing is lost. Expected: after the failure, `next` serves the request. Observed: it is in no queue any
more, is never answered, and nothing says so. `BatchGenerator._next` takes it out of `_currently_processing` and the
prompt batch before `GenerationBatch.__init__` makes the call. Tokens of others that the same step had generated are
lost as well, since `_next` holds them in a local variable.
"""

import contextlib
import sys

import mlx.core as mx
from mlx_lm.generate import BatchGenerator
from mlx_lm.models.llama import Model, ModelArgs


class Failing(Model):
    """Runs out of memory in its first call, and never again."""

    failed = False

    def __call__(self, *given, **more):
        if not Failing.failed:
            Failing.failed = True
            raise RuntimeError("out of memory")
        return super().__call__(*given, **more)


mx.random.seed(0)
args = ModelArgs("llama", 16, 1, 32, 2, 1e-5, 64, num_key_value_heads=2)  # tiny, random weights
generator = BatchGenerator(Failing(args), completion_batch_size=2)
generator.insert([[5]], max_tokens=[3])
with contextlib.suppress(RuntimeError):
    generator.next()
answered = sum(len(generator.next()[1]) for _ in range(10))
print(f"{answered} tokens of 3 after a failed call")
sys.exit(0 if answered == 3 else 1)
