"""The exact model of onnxruntime-genai's adapter: a graph around an operator in Python, which reads the paged cache.

The operator writes the token ids into the engine's cache, reads every prefix back through the engine's block table and
lengths, and asks for what follows. When that raises, the next node fails, as a model does. The logits are one-hot.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx.parser
import onnxruntime_genai as og
from onnxruntime_extensions import PyCustomOpDef, get_library_path, onnx_op

VOCABULARY, STOP = 1024, 1
BLOCK, BLOCKS, LONGEST = 4, 256, 512
RUNNING: list[Any] = []  # whose model is called; the last one, where an engine is stepped inside another's call


def prefixes(ids: Any, bounds: Any, past: Any, table: Any, cached: Any) -> list[list[int]]:
    """Write the new ids into the cache, and read all prefixes back."""
    rows = []
    for place, start in enumerate(past):
        new = ids[bounds[place] : bounds[place + 1]]
        slots = [table[place][at // BLOCK] * BLOCK + at % BLOCK for at in range(start + len(new))]
        cached[slots[start:]] = new
        rows.append(cached[slots].astype(int).tolist())
    return rows


def exact_model(ids: Any, bounds: Any, past: Any, table: Any, keys: Any) -> tuple[Any, Any]:
    """Answer to the prefixes in the cache; with ids that are none where the model fails."""
    engine = RUNNING[-1]
    try:
        rows = prefixes(ids, bounds, past, table, keys.reshape(-1))
        answers = engine.alphabet.ids(engine.model.next_tokens([engine.alphabet.tokens(row) for row in rows]))
    except BaseException as raised:  # an operator that raises ends the process
        engine.failure, answers = raised, [VOCABULARY] * len(past)
    return np.array(answers, np.int64), keys


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
    "session_options": {"provider_options": [], "custom_ops_library": "operators.so", "log_severity_level": 4},
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
