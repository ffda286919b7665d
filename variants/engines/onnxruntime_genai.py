"""onnxruntime-genai's `Engine` with dynamic batching behind the engine profile: requests, turns and events.

| profile | onnxruntime-genai |
|---|---|
| slots | `engine.dynamic_batching.max_batch_size` of the model's configuration |
| `add_request` | `create_request`, and one `begin_turn`; from inside a model call it is done when `run` returns |
| `step` | one `run` that executes, after one that only hands out retained events where `cancel_turn` left some |
| `max_tokens`, stop | `TurnOptions.set_max_generated_tokens`, and `eos_token_id` of the configuration |
| `abort_request` | `cancel_turn`; from inside a model call it is done when `run` returns |
| endings | events with `TURN_FINISHED`; the request is closed then, as one that is not closed keeps its slot |
| ids | the engine gives handles; the names, and that a live one is refused, are this file's |

The model is a small graph: a custom operator in Python (onnxruntime-extensions) writes the token ids into the
engine's paged cache, reads every prefix back through the engine's block table and lengths, and asks for what follows.
When that raises, the next node fails, as a model does. Prefix caching is on, with blocks of 4 tokens, so that it
happens. Of endings this file adds those of requests that the engine never saw.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx.parser
import onnxruntime_genai as og
from onnxruntime_extensions import PyCustomOpDef, get_library_path, onnx_op

from reference.vocabulary import FinishReason, MockModel, Request, check_arguments
from variants.engines.exact import Alphabet, StepOutput

ENGINE = "onnxruntime-genai Engine"
PACKAGES = ("onnxruntime-genai", "onnxruntime", "onnxruntime-extensions", "onnx")
EXTRA = "onnxruntime-genai"
VOCABULARY, STOP = 1024, 1
BLOCK, BLOCKS, LONGEST = 4, 256, 512
REFUSES = {
    "empty prompt": "`begin_turn` raises RuntimeError: at least one input token is expected",
    "max_tokens 0": "0 means no limit to `set_max_generated_tokens`; this file ends such a request without the engine",
    "a failing call": "it is the end of the engine by design: all turns end as failed, and `run` raises from then on",
}
DIALECT = {"stop_token": "excluded"}  # the event that ends a turn with it has no token
POLICY: dict[str, tuple[str, str]] = {}
REASONS: dict[Any, FinishReason] = {
    og.FinishReason.EOS: "stop",
    og.FinishReason.MAX_GENERATED_TOKENS: "length",
    og.FinishReason.CANCELLED: "abort",
}
RUNNING: list[Engine] = []  # whose model is called; the last one, where an engine is stepped inside another's call


def exact_model(ids: Any, bounds: Any, past: Any, table: Any, keys: Any) -> tuple[Any, Any]:
    """Write the new ids into the cache, read all prefixes back, and answer; ids that are none make the graph fail."""
    cached, rows = keys.reshape(-1), []
    for place, start in enumerate(past):
        new = ids[bounds[place] : bounds[place + 1]]
        slots = [table[place][at // BLOCK] * BLOCK + at % BLOCK for at in range(start + len(new))]
        cached[slots[start:]] = new
        rows.append([int(cached[slot]) for slot in slots])
    return np.array(RUNNING[-1].answer(rows) or [VOCABULARY] * len(rows), np.int64), keys


LONGS, INTS, FLOATS = PyCustomOpDef.dt_int64, PyCustomOpDef.dt_int32, PyCustomOpDef.dt_float
onnx_op(op_type="ExactModel", inputs=[LONGS, INTS, INTS, INTS, FLOATS], outputs=[LONGS, FLOATS])(exact_model)

CACHE = f"float[{BLOCKS}, {BLOCK}, 1, 1]"
GRAPH = f"""<ir_version: 9, opset_import: ["": 17, "ai.onnx.contrib": 1]>
exact (int64[tokens] input_ids, int32[bounds] cumulative_sequence_lengths, int32[rows] past_sequence_lengths,
       int32[rows, blocks] block_table, {CACHE} keys_0, {CACHE} values_0)
   => (float[batch_size, {VOCABULARY}] logits, {CACHE} new_keys_0, {CACHE} new_values_0)
<int64 first = {{0}}, int64 size = {{{VOCABULARY}}}, int64 one = {{1}}, float[2] cold_hot = {{0, 50}}>
{{
    answers, new_keys_0 = ai.onnx.contrib.ExactModel (
        input_ids, cumulative_sequence_lengths, past_sequence_lengths, block_table, keys_0)
    new_values_0 = Identity (values_0)
    vocabulary = Range (first, size, one)
    known = Gather (vocabulary, answers)
    logits = OneHot (known, size, cold_hot)
}}"""
INPUTS = ("input_ids", "block_table", "cumulative_sequence_lengths", "past_sequence_lengths")
SIZES = ("num_attention_heads", "num_key_value_heads", "head_size", "hidden_size", "num_hidden_layers")
DECODER = dict.fromkeys(SIZES, 1) | {
    "filename": "decoder.onnx",
    "session_options": {"provider_options": [], "custom_ops_library": "operators.so"},
    "inputs": {name: name for name in INPUTS} | {"past_key_names": "keys_%d", "past_value_names": "values_%d"},
    "outputs": {"present_key_names": "new_keys_%d", "present_value_names": "new_values_%d"},
}
TOKENS = {"bos_token_id": 0, "eos_token_id": STOP, "pad_token_id": 0, "vocab_size": VOCABULARY}
BATCHING = {"block_size": BLOCK, "num_blocks": BLOCKS, "prefix_caching": True}


@cache
def built(num_slots: int) -> og.Model:
    """The model, made once for each number of slots: its state is in the engines.

    The engine takes operators from the model's folder only, and they must be in the very file that this process has
    loaded; hence a hard link, and a folder beside that file while the model is made.
    """
    library = Path(get_library_path())
    with TemporaryDirectory(dir=library.parent, prefix="exact-model-") as place:
        os.link(library, f"{place}/operators.so")
        onnx.save_model(onnx.parser.parse_model(GRAPH), f"{place}/decoder.onnx")
        configuration = {
            "model": {"type": "decoder", "context_length": LONGEST, "decoder": DECODER, **TOKENS},
            "search": {"max_length": LONGEST, "do_sample": False},
            "engine": {"dynamic_batching": {**BATCHING, "max_batch_size": num_slots}},
        }
        Path(place, "genai_config.json").write_text(json.dumps(configuration), encoding="utf-8")
        return og.Model(place)


@dataclass(eq=False)
class Turn:
    """One submission; without a `handle` where the engine has not seen it yet, or never will."""

    request: Request
    handle: Any = None
    aborted: bool = False


class Engine:
    """One engine, its buffer of events, and the submissions by name and by handle."""

    def __init__(self, model: MockModel, num_slots: int, stop_token: int) -> None:
        check_arguments([], num_slots)
        self.model, self.alphabet = model, Alphabet(VOCABULARY, first=STOP)
        self.alphabet.id(stop_token)  # the first, so it is STOP
        self.engine = og.Engine(built(num_slots))
        self.buffer = self.engine.create_event_buffer(4 * num_slots + 64)
        self.live: dict[str, Turn] = {}
        self.turns: dict[Any, Turn] = {}
        self.unseen: list[Turn] = []  # over without the engine
        self.late: list[Turn] = []  # what was done to them inside a call waits
        self.stepping = self.retained = False
        self.failure: BaseException | None = None

    def answer(self, rows: list[list[int]]) -> list[int]:
        """What the model says to the rows, in ids; nothing where it fails."""
        try:
            return self.alphabet.ids(self.model.next_tokens([self.alphabet.tokens(row) for row in rows]))
        except BaseException as raised:
            self.failure = raised
            return []

    def add_request(self, request: Request) -> None:
        check_arguments([request], 1)
        if request.request_id in self.live:
            raise ValueError(f"{request.request_id!r} is live")
        turn = Turn(request)
        if request.max_tokens:
            self._now_or_late(turn)
        else:
            self.unseen.append(turn)
        self.live[request.request_id] = turn

    def abort_request(self, request_id: str) -> None:
        turn = self.live.pop(request_id, None)
        if turn is None:
            return
        turn.aborted = True
        if turn.handle:
            self._now_or_late(turn)
        elif turn in self.late:
            self.late.remove(turn)
            self.unseen.append(turn)

    def has_unfinished_requests(self) -> bool:
        return bool(self.live or self.turns or self.unseen)

    def step(self) -> list[StepOutput]:
        outputs, due = self._run() if self.retained else [], self.unseen
        self.retained, self.unseen = False, []
        told = self._run()
        for turn in due:
            outputs.append(StepOutput(turn.request.request_id, None, "abort" if turn.aborted else "length"))
            self._over(turn)
        return outputs + told

    def _run(self) -> list[StepOutput]:
        """Run once, and do what has waited for the end of the call; what the events tell."""
        self.stepping = True
        RUNNING.append(self)
        try:
            self.engine.run(self.buffer)
        finally:
            RUNNING.pop()
            self.stepping = False
        if self.failure is not None:
            raise self.failure
        told = [output for event in self.buffer for output in self._told(event)]
        late, self.late = self.late, []
        for turn in late:
            self._now_or_late(turn)
        return told

    def _told(self, event: Any) -> list[StepOutput]:
        if event.request is None:
            raise RuntimeError(f"the engine says {event.error_code.name}")
        turn, reason = self.turns[event.request], REASONS.get(event.finish_reason)
        if reason:
            self._over(turn)
        if turn.aborted:
            return [StepOutput(turn.request.request_id, None, "abort")] if reason else []
        token = None if event.token is None else self.alphabet.token(event.token)
        return [StepOutput(turn.request.request_id, token, reason)]

    def _over(self, turn: Turn) -> None:
        if self.turns.pop(turn.handle, None):
            turn.handle.close()
        if not turn.aborted:
            del self.live[turn.request.request_id]

    def _now_or_late(self, turn: Turn) -> None:
        """Cancel the turn if it is aborted, else begin it; not while the engine runs."""
        if self.stepping:
            self.late.append(turn)
        elif turn.aborted:
            self.retained |= turn.handle in self.turns and turn.handle.cancel_turn(1)
        else:
            turn.handle = self.engine.create_request()
            options = og.TurnOptions(turn.handle)
            options.set_max_generated_tokens(turn.request.max_tokens)
            turn.handle.begin_turn(np.array(self.alphabet.ids(turn.request.prompt), np.int32), options)
            self.turns[turn.handle] = turn
