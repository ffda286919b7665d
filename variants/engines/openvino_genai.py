"""openvino-genai's `ContinuousBatchingPipeline` behind the engine profile: `add_request`, `step`, and handles.

| profile | openvino-genai |
|---|---|
| slots | `max_num_seqs`, which is kept to where `dynamic_split_fuse` is off |
| `add_request` | `add_request` of token ids, also from inside a model call |
| `step` | `step`, then `read` of every handle that can be read |
| `max_tokens`, stop | `GenerationConfig.max_new_tokens`, and `eos_token_id` |
| `abort_request` | `GenerationHandle.cancel`, also from inside a model call |
| endings | `finish_reason`; one that the engine drops as `IGNORED` (out of memory) ends as `abort` |
| ids | unique for every call, as the engine asks; the names, and that a live one is refused, are this file's |

The model is in `exact_openvino.py`, in float32, its cache too; prefix caching is on. This file adds the endings
of aborted requests, for which a handle has a status only, and those of requests that the engine never saw. A pipeline
takes 0.3 s to make, so one that is empty again is used by the next `Engine`; one in which a call failed is not.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import openvino as ov
import openvino_genai as og

from reference.vocabulary import FinishReason, MockModel, Request, check_arguments
from variants.engines.exact import ANSWERED, Alphabet, StepOutput
from variants.engines.exact_openvino import LONGEST, RUNNING, SIZE, Read, Write, saved

ENGINE = "openvino-genai ContinuousBatchingPipeline"
PACKAGES = ("openvino-genai", "openvino")
EXTRA = "openvino"
VOCABULARY, CHUNK = 1000, 16
NOTHING = -(10**15)  # what is read where nobody of this engine has written
REFUSES = {
    "empty prompt": "`add_request` raises RuntimeError: the length of a prompt cannot be 0",
    "max_tokens 0": "`add_request` raises RuntimeError; this file ends such a request without the engine",
}
UNSEEN = ANSWERED
POLICY = {
    "stream/exact-prefix": (
        "a running request may lack rows, and goes on from its exact prefix",
        "without split fuse, a step with prompts in it has nothing else (Scheduler::_schedule_prompt_phase_vllm)",
    ),
}
REASONS: dict[Any, FinishReason] = {
    og.GenerationFinishReason.STOP: "stop",
    og.GenerationFinishReason.LENGTH: "length",
}
NUMBERS = count()
IDLE: defaultdict[tuple[int, bool], list[tuple[Any, int]]] = defaultdict(list)


def pipeline(num_slots: int, split_fuse: bool) -> tuple[Any, int]:
    """A pipeline with nothing in it, and the first id that it has never met: what its prefix cache knows is of others.

    Where prompts are split, a step computes at most `CHUNK` tokens.
    """
    if IDLE[num_slots, split_fuse]:
        return IDLE[num_slots, split_fuse].pop()
    scheduling = og.SchedulerConfig()
    scheduling.dynamic_split_fuse, scheduling.enable_prefix_caching, scheduling.num_kv_blocks = split_fuse, True, 64
    scheduling.max_num_batched_tokens = CHUNK if split_fuse else 1024
    scheduling.max_num_seqs = num_slots
    operators = [ov.OpExtension(Write), ov.OpExtension(Read)]
    exact = {"KV_CACHE_PRECISION": "f32", "INFERENCE_PRECISION_HINT": "f32", "extensions": operators}
    with TemporaryDirectory() as folder:
        saved(folder)
        return og.ContinuousBatchingPipeline(folder, scheduling, "CPU", exact), 1


class Engine:
    """One pipeline, and the handles by name."""

    split_fuse = False

    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        check_arguments([], num_slots)
        self.pipeline, first = pipeline(num_slots, self.split_fuse)
        self.model, self.num_slots = model, num_slots
        self.alphabet = Alphabet(first + VOCABULARY, first)
        self.stop = self.alphabet.id(stop_token)
        self.live: dict[str, Any] = {}  # None for one that the engine has not seen
        self.ended: list[StepOutput] = []
        self.failure: BaseException | None = None

    def answer(self, rows: list[list[int]]) -> list[int]:
        """What the model says to the rows, in ids."""
        try:
            return self.alphabet.ids(self.model.next_tokens([[self._token(number) for number in row] for row in rows]))
        except BaseException as raised:
            self.failure = raised
            raise

    def _token(self, number: int) -> int:
        try:
            return self.alphabet.token(number)
        except KeyError:
            return NOTHING

    def add_request(self, request: Request) -> None:
        check_arguments([request], 1)
        name = request.request_id
        if name in self.live:
            raise ValueError(f"{name!r} is live")
        if len(request.prompt) + request.max_tokens > LONGEST:
            raise ValueError(f"{name!r} is longer than the {LONGEST} tokens of this file's model")
        if not request.max_tokens:
            self.live[name] = None
            self.ended.append(StepOutput(name, None, "length"))
            return
        self.live[name] = self.entered(request)

    def entered(self, request: Request) -> Any:
        """Hand a request to the engine; its handle."""
        config = og.GenerationConfig(max_new_tokens=request.max_tokens, eos_token_id=self.stop)
        prompt = ov.Tensor(np.array([self.alphabet.ids(request.prompt)], np.int64))
        return self.pipeline.add_request(next(NUMBERS), prompt, config)

    def abort_request(self, request_id: str) -> None:
        if request_id not in self.live:
            return
        handle = self.live.pop(request_id)
        if handle is not None:
            handle.cancel()
        length = StepOutput(request_id, None, "length")
        self.ended = [ending for ending in self.ended if ending != length]
        self.ended.append(StepOutput(request_id, None, "abort"))

    def has_unfinished_requests(self) -> bool:
        return bool(self.live or self.ended)

    def step(self) -> list[StepOutput]:
        if self.pipeline.has_non_finished_requests():
            self._step()
        outputs, self.ended = self.ended, []
        for ending in outputs:
            if ending.finish_reason == "length":
                del self.live[ending.request_id]
        for name, handle in list(self.live.items()):
            if handle is not None:
                outputs += self._told(name, handle)
        return outputs

    def _step(self) -> None:
        RUNNING.append(self)
        self.failure = None
        try:
            self.pipeline.step()
        except RuntimeError as error:
            place = re.compile(r"at /\S*/")  # of the machine that built the engine
            raise self.failure or RuntimeError(place.sub("at ", str(error))) from error
        finally:
            RUNNING.pop()

    def _told(self, name: str, handle: Any) -> list[StepOutput]:
        outputs: list[StepOutput] = []
        while handle.can_read():
            for part in handle.read().values():
                tokens = [StepOutput(name, token, None) for token in self.alphabet.tokens(part.generated_ids)]
                outputs += tokens
                if part.finish_reason in REASONS:
                    outputs[-1] = outputs[-1]._replace(finish_reason=REASONS[part.finish_reason])
        if handle.get_status() == og.GenerationStatus.IGNORED:
            outputs.append(StepOutput(name, None, "abort"))
        if outputs and outputs[-1].finish_reason:
            del self.live[name]
        return outputs

    def close(self) -> None:
        """Leave the pipeline to the next one, if it is empty when all is cancelled."""
        if self.failure is None:
            for name in list(self.live):
                self.abort_request(name)
            self.pipeline.step()
            unused = self.alphabet.id(NOTHING) + 1
            if not self.pipeline.has_non_finished_requests() and unused + VOCABULARY < SIZE:
                IDLE[self.num_slots, self.split_fuse].append((self.pipeline, unused))
