"""mlx-lm's `BatchGenerator` behind the engine profile: `insert`, `next` and `remove`, and nothing else of it.

| profile | mlx-lm |
|---|---|
| slots | `completion_batch_size` and `prefill_batch_size`, both `num_slots` |
| `add_request` | `insert` of one prompt, also from inside a model call |
| `step` | one `next`: first a decode of all that run, then the entry of who was prefilled, then prefill |
| `max_tokens`, stop | the engine's `max_tokens`, and `stop_tokens` of one token |
| `abort_request` | `remove`; from inside a model call it is done when `next` returns |
| ids | the engine gives numbers; the names, and that a live one is refused, are this file's |

This file adds the endings of aborted requests, which the engine drops without a word, and those of requests with
nothing to generate, which it refuses. The model fails before it has touched the cache.
"""

from __future__ import annotations

from typing import Any

import mlx.core as mx
from mlx_lm.generate import BatchGenerator
from mlx_lm.models.cache import KVCache

from reference.vocabulary import MockModel, Request, check_arguments
from variants.engines.exact import ANSWERED, Alphabet, StepOutput

ENGINE = "mlx-lm BatchGenerator"
PACKAGES = ("mlx-lm", "mlx")
EXTRA = "mlx"
VOCABULARY = 1024
REFUSES = {
    "empty prompt": "`insert` raises ValueError: it has no beginning-of-sequence token of its own",
    "max_tokens 0": "`insert` raises ValueError; this file ends such a request without the engine",
}
UNSEEN = ANSWERED
POLICY = {
    "arrival/one-call": (
        "a step makes at most 2 calls",
        "`next` decodes those who run, and then makes the first call of those who enter (BatchGenerator._next)",
    ),
    "arrival/next-call": (
        "a request waits at most 1 steps beside a free slot",
        "a prompt of more than one token is prefilled in a step of its own before its first call (_next)",
    ),
    "arrival/fifo": (
        "a request is overtaken in at most 1 steps, while it is prefilled",
        "a prompt of one token needs no prefill, and has its first call a step before a longer one beside it",
    ),
    "stream/immediate": (
        "a token is emitted at most 1 steps after its step",
        "the next token is computed while the last one is handed out (GenerationBatch._step: async_eval)",
    ),
    "stream/finish": (
        "at most 1 rows after the end, whose replies reach nobody",
        "decoding is one step ahead, so a request that ends has its next row in the same call",
    ),
    "abort/frees-slot": (
        "at most 1 rows after an abort, whose replies reach nobody",
        "`remove` cannot be called while `next` runs; an abort from inside a call waits for the end of the step",
    ),
}


class Logits:
    """What the model returns: it answers when the engine takes the logits, which it does not of prefill."""

    def __init__(self, model: ExactModel, rows: list[list[int]], undo: Any) -> None:
        self.model, self.rows, self.undo = model, rows, undo

    def __getitem__(self, place: Any) -> mx.array:
        try:
            answers = self.model.answer(self.rows)
        except BaseException:
            self.undo()
            raise
        ids = mx.array(self.model.alphabet.ids(answers))
        one_hot: mx.array = (mx.arange(VOCABULARY)[None, :] == ids[:, None]).astype(mx.float32) * 50
        return one_hot


class ExactModel:
    """A model whose keys are the token ids: what it reads back through the engine's mask is the prefix it is asked."""

    def __init__(self, model: MockModel) -> None:
        self.model, self.alphabet = model, Alphabet(VOCABULARY)

    def make_cache(self) -> list[KVCache]:
        return [KVCache()]

    def answer(self, rows: list[list[int]]) -> list[int]:
        return self.model.next_tokens([self.alphabet.tokens(row) for row in rows])

    def __call__(self, tokens: mx.array, cache: list[Any]) -> Logits:
        (held,) = cache
        before = held.state
        keys = tokens[:, None, :, None].astype(mx.int32)
        mask = held.make_mask(tokens.shape[1], return_array=True)
        seen, _ = held.update_and_fetch(keys, keys)

        def undo() -> None:
            held.state = before

        return Logits(self, _visible(seen, mask), undo)


def _visible(keys: mx.array, mask: mx.array) -> list[list[int]]:
    """The ids that the last new position of every sequence may see."""
    rows: Any = keys[:, 0, :, 0].tolist()
    last: Any = mx.broadcast_to(mask[..., -1, :].reshape(-1, keys.shape[2]), (len(rows), keys.shape[2])).tolist()
    return [[k for k, see in zip(row, sees, strict=True) if see] for row, sees in zip(rows, last, strict=True)]


class Engine:
    """One `BatchGenerator`, and the names of its numbers."""

    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        check_arguments([], num_slots)
        self.exact = ExactModel(model)
        stop = [[self.exact.alphabet.id(stop_token)]]
        self.generator = BatchGenerator(
            self.exact, stop_tokens=stop, completion_batch_size=num_slots, prefill_batch_size=num_slots
        )
        self.live: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.ended: list[StepOutput] = []
        self.late: list[int] = []
        self.stepping = False

    def add_request(self, request: Request) -> None:
        check_arguments([request], 1)
        name = request.request_id
        if name in self.live:
            raise ValueError(f"{name!r} is live")
        if not request.max_tokens:
            self.live[name] = -1
            self.ended.append(StepOutput(name, None, "length"))
            return
        prompt = self.exact.alphabet.ids(request.prompt)
        (number,) = self.generator.insert([prompt], [request.max_tokens])
        self.live[name], self.names[number] = number, name

    def abort_request(self, request_id: str) -> None:
        number = self.live.pop(request_id, None)
        if number is None:
            return
        self.ended = [ending for ending in self.ended if number >= 0 or ending.request_id != request_id]
        self.ended.append(StepOutput(request_id, None, "abort"))
        if number >= 0:
            del self.names[number]
            self.late.append(number)
        if not self.stepping:
            self._remove()

    def has_unfinished_requests(self) -> bool:
        return bool(self.live or self.ended)

    def step(self) -> list[StepOutput]:
        self.stepping = True
        try:
            _, responses = self.generator.next()
        finally:
            self.stepping = False
            self._remove()
        outputs, self.ended = self.ended, []
        for ending in outputs:
            if self.live.get(ending.request_id) == -1:
                del self.live[ending.request_id]
        for response in responses:
            name = self.names.get(response.uid)
            if name is None:
                continue  # aborted from inside this call
            reason: Any = response.finish_reason
            outputs.append(StepOutput(name, self.exact.alphabet.token(response.token), reason))
            if reason:
                del self.live[name], self.names[response.uid]
        return outputs

    def close(self) -> None:
        self.generator.close()

    def _remove(self) -> None:
        numbers, self.late = self.late, []
        if numbers:
            self.generator.remove(numbers)
