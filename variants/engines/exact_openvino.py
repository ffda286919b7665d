"""The exact model of openvino-genai's adapter: attention whose result is the prefix, between two operators in Python.

`Write` gives each token a value that is its id at its own position, and zero at all others. With keys of zero,
attention is the mean of all values that the engine's cache, block tables and lengths show to a token: times their
number it is the prefix, position by position. A second head keeps in which pass a token was written, which tells
where the tokens of one sequence in a pass end. `Read` asks for what follows the last one of each.
"""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as ops

SIZE, LONGEST = 8192, 128
HEADS, PASSES = 2, 500
RUNNING: list[Any] = []  # whose model is called; the last one, where an engine is stepped inside another's call
STAMPS = cycle(range(1, PASSES))
STAMP = [0]


class Operator(ov.Op):  # type: ignore[misc]
    width = 0

    def __init__(self, inputs: Any = None) -> None:
        super().__init__(self, inputs)

    def validate_and_infer_types(self) -> None:
        self.set_output_type(0, ov.Type.f32, ov.PartialShape([-1, -1, self.width]))

    def clone_with_new_inputs(self, inputs: Any) -> Operator:
        return type(self)(inputs)

    def visit_attributes(self, _: Any) -> bool:
        return True

    def has_evaluate(self) -> bool:
        return True

    def evaluate(self, outputs: Any, inputs: Any) -> bool:
        first, positions = (np.array(one.data) for one in inputs)
        made = self.made(first.reshape(positions.size, -1), positions.reshape(-1))
        outputs[0].shape = (*positions.shape, self.width)
        outputs[0].data[:] = made.reshape(outputs[0].shape)
        return True

    def made(self, first: Any, positions: Any) -> Any:
        raise NotImplementedError


class Write(Operator):
    width = HEADS * LONGEST

    def made(self, first: Any, positions: Any) -> Any:
        STAMP[0] = next(STAMPS)
        values: Any = np.zeros((len(positions), HEADS, LONGEST), np.float32)
        values[range(len(positions)), 0, positions] = first[:, 0]
        values[range(len(positions)), 1, positions] = STAMP[0]
        return values


class Read(Operator):
    width = SIZE

    def made(self, first: Any, positions: Any) -> Any:
        """One-hot logits for the last tokens; what is there for the others is not looked at."""
        seen = np.rint(first * (positions[:, None] + 1)).astype(int).reshape(-1, HEADS, LONGEST)
        last = last_ones(seen[:, 1], positions)
        rows = [
            row[: max(at + 1, *np.flatnonzero(row) + 1)].tolist()
            for row, at in zip(seen[last, 0], positions[last], strict=True)
        ]
        logits: Any = np.zeros((len(positions), SIZE), np.float32)
        if RUNNING:
            logits[last, RUNNING[-1].answer(rows)] = 50
        return logits


def last_ones(stamps: Any, positions: Any) -> list[int]:
    """The places of tokens that the next one does not follow: that one was not written after it in this pass."""
    follows = [
        later == at + 1 and stamp[at] == STAMP[0]
        for at, later, stamp in zip(positions, positions[1:], stamps[1:], strict=False)
    ]
    return [place for place, followed in enumerate([*follows, False]) if not followed]


def saved(folder: str) -> None:
    """Write the model as the engine reads it, in the form that optimum-intel gives a decoder with a cache."""
    names = {"input_ids": ov.Type.i64, "attention_mask": ov.Type.i64, "position_ids": ov.Type.i64}
    ids, mask, positions = (_parameter(name, kind, 2) for name, kind in names.items())
    beams = _parameter("beam_idx", ov.Type.i32, 1)
    values = _heads(Write([ids.output(0), positions.output(0)]).output(0))
    nothing = ops.multiply(values, np.float32(0))
    sinks: list[Any] = []
    batch = ops.gather(ops.shape_of(ids), [0], 0)
    empty = ops.broadcast(np.float32(0), ops.concat([batch, np.array([HEADS, 0, LONGEST])], 0))
    kept = []
    for name, new in (("key", nothing), ("value", values)):
        variable = f"past_key_values.0.{name}present.0.{name}"
        past = ov.opset6.read_value(empty, variable, ov.Type.f32, ov.PartialShape([-1, HEADS, -1, LONGEST]))
        kept.append(ops.concat([ops.gather(past, beams, 0), new], 2))
        sinks.append(ov.opset6.assign(kept[-1], variable))
    hidden = ops.multiply(ops.subtract(np.float32(1), ops.convert(mask, "f32")), np.float32(-1e9))
    seen = ops.scaled_dot_product_attention(nothing, *kept, ops.unsqueeze(hidden, [1, 2]))
    flat = ops.reshape(ops.transpose(seen, [0, 2, 1, 3]), [0, 0, HEADS * LONGEST], True)
    logits = ops.result(Read([flat.output(0), positions.output(0)]))
    logits.get_output_tensor(0).set_names({"logits"})
    model = ov.Model([logits], sinks, [ids, mask, positions, beams], "exact")
    ov.save_model(model, f"{folder}/openvino_model.xml", compress_to_fp16=False)
    Path(folder, "config.json").write_text(json.dumps({"model_type": "llama"}), encoding="utf-8")
    Path(folder, "generation_config.json").write_text(json.dumps({"eos_token_id": 0}), encoding="utf-8")


def _parameter(name: str, kind: Any, rank: int) -> Any:
    made = ops.parameter([-1] * rank, kind, name=name)
    made.output(0).get_tensor().set_names({name})
    return made


def _heads(flat: Any) -> Any:
    return ops.transpose(ops.reshape(flat, [0, 0, HEADS, LONGEST], True), [0, 2, 1, 3])
